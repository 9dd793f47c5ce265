// The headers of one attempt, signed in two ways over the bytes that are sent:
//
//   X-Webhook-Signature   hex HMAC-SHA256 of the body, keyed with the secret as text
//   webhook-signature     Standard Webhooks 1.0: base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the bytes
//                         that the secret stands for; during a rotation's grace period by both secrets
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { secretBytes } from './secret.ts';

/** A secret made ready for signing, so that an attempt costs no key set-up. */
export interface SigningKey {
  text: KeyObject;
  bytes: KeyObject;
}

export const signingKeyOf = (secret: string): SigningKey => ({
  text: createSecretKey(secret, 'utf8'),
  bytes: createSecretKey(secretBytes(secret)),
});

export interface Signable {
  endpointId: string;
  /** The same on every attempt, replay and endpoint. */
  eventId: string;
  event: string;
  /** ISO time of the event. */
  timestamp: string;
  body: Uint8Array;
}

/** Flat name-value pairs, as the HTTP client takes them with the least work. */
export function signedHeaders(
  delivery: Signable,
  keys: readonly [SigningKey, ...SigningKey[]],
  attemptAt: Date,
  userAgent: string,
): string[] {
  const seconds = String(Math.floor(attemptAt.getTime() / 1000));
  const prefix = `${delivery.eventId}.${seconds}.`;
  return [
    'content-type',
    'application/json',
    'user-agent',
    userAgent,
    'x-webhook-event',
    delivery.event,
    'x-webhook-id',
    delivery.endpointId,
    'x-webhook-timestamp',
    delivery.timestamp,
    'x-webhook-signature',
    createHmac('sha256', keys[0].text).update(delivery.body).digest('hex'),
    'webhook-id',
    delivery.eventId,
    'webhook-timestamp',
    seconds,
    'webhook-signature',
    keys.map((key) => standardSignature(key, prefix, delivery.body)).join(' '),
  ];
}

const standardSignature = (key: SigningKey, prefix: string, body: Uint8Array): string =>
  `v1,${createHmac('sha256', key.bytes).update(prefix).update(body).digest('base64')}`;
