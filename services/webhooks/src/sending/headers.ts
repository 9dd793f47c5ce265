// The headers of one attempt. X-Webhook-Timestamp is the time of the event and the same on every attempt; webhook-timestamp,
// which Standard Webhooks has receivers compare with their clock, is the time of the attempt.
import { signatureOf, standardSignaturesOf, type SigningKeys } from '../secrets/signature.ts';

export interface Signable {
  /** The same on every attempt, replay and endpoint. */
  eventId: string;
  event: string;
  /** ISO time of the event. */
  timestamp: string;
  body: Uint8Array;
}

export interface AttemptToSign {
  sending: Signable;
  endpointId: string;
  /** With its port, unless that goes without saying. */
  host: string;
  keys: SigningKeys;
  at: Date;
  userAgent: string;
}

/** Flat name-value pairs, as the HTTP client takes them with the least work. */
export function signedHeaders({ sending, endpointId, host, keys, at, userAgent }: AttemptToSign): string[] {
  const { eventId, event, timestamp, body } = sending;
  const seconds = String(Math.floor(at.getTime() / 1000));
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
    signatureOf(keys, body),
    'webhook-id',
    eventId,
    'webhook-timestamp',
    seconds,
    'webhook-signature',
    standardSignaturesOf(keys, `${eventId}.${seconds}.`, body),
  ];
}
