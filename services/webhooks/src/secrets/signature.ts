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
  /** The same on every attempt, replay and endpoint. */
  eventId: string;
  event: string;
  /** ISO time of the event. */
  timestamp: string;
  body: Uint8Array;
}

export interface Attempt {
  sending: Signable;
  endpointId: string;
  /** With its port, unless that goes without saying. */
  host: string;
  keys: readonly [SigningKey, ...SigningKey[]];
  at: Date;
  userAgent: string;
}

/** Flat name-value pairs, as the HTTP client takes them with the least work. */
export function signedHeaders({ sending, endpointId, host, keys, at, userAgent }: Attempt): string[] {
  const { eventId, event, timestamp, body } = sending;
  const seconds = String(Math.floor(at.getTime() / 1000));
  const prefix = `${eventId}.${seconds}.`;
  return [
    'host',
    host,
    'content-type',
    'application/json',
    'user-agent',
    userAgent,
    'x-webhook-event',
    event,
    'x-webhook-id',
    endpointId,
    'x-webhook-timestamp',
    timestamp,
    'x-webhook-signature',
    createHmac('sha256', keys[0].text).update(body).digest('hex'),
    'webhook-id',
    eventId,
    'webhook-timestamp',
    seconds,
    'webhook-signature',
    keys.map((key) => standardSignature(key, prefix, body)).join(' '),
  ];
}

const standardSignature = (key: SigningKey, prefix: string, body: Uint8Array): string =>
  `v1,${createHmac('sha256', key.bytes).update(prefix).update(body).digest('base64')}`;
