// The headers of an attempt, with two signatures:
//
//   X-Webhook-Signature   hex HMAC-SHA256 of the body, keyed with the secret as text
//   webhook-signature     Standard Webhooks 1.0: base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the bytes
//                         that the secret encodes; during a rotation's grace period one signature for each secret
import { createHmac } from 'node:crypto';
import type { SigningKey } from '../secrets/signing-secret.ts';

/** The keys with which a delivery is signed, newest first. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

export const userAgentOf = (platform: string): string => `${platform}-Webhook/1.0`;

export interface Signable {
  /** The id of the event: the same in every attempt and replay, and for every endpoint. */
  eventId: string;
  event: string;
  timestamp: string;
  body: Uint8Array;
}

export interface AttemptToSign {
  sending: Signable;
  endpointId: string;
  host: string;
  keys: SigningKeys;
  at: Date;
  userAgent: string;
}

/**
 * Flat name-value pairs, which cost the HTTP client the least work. X-Webhook-Timestamp is the time of the event;
 * webhook-timestamp, which receivers compare with their clock, is the time of the attempt.
 */
export function signedHeaders({ sending, endpointId, host, keys, at, userAgent }: AttemptToSign): string[] {
  const { eventId, event, timestamp, body } = sending;
  const seconds = String(Math.floor(at.getTime() / 1000));
  const prefix = `${eventId}.${seconds}.`;
  const standard = keys.map(
    (key) => `v1,${createHmac('sha256', key.bytes).update(prefix).update(body).digest('base64')}`,
  );
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
    standard.join(' '),
  ];
}
