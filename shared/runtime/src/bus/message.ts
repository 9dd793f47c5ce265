// The headers of a NATS message as plain maps, the form in which the rest of the system sees them.
import { requestHeaders } from '@integration-sync/contracts';
import { headers as natsHeaders, type MsgHdrs } from '@nats-io/nats-core';
import { readTraceparent } from '../tracing/index.ts';

export type Headers = ReadonlyMap<string, string>;

/** The query string of a request, as its caller wrote the URL. */
export const queryOf = ({ headers }: { headers: Headers }): URLSearchParams =>
  new URLSearchParams(headers.get(requestHeaders.query) ?? '');

export function readHeaders(from: MsgHdrs | undefined): Headers {
  const map = new Map<string, string>();
  if (from !== undefined) for (const [name, values] of from) map.set(name, values[0] ?? '');
  return map;
}

/** The `traceparent` of a message; undefined if the message belongs to no trace. */
export const traceparentIn = (from: MsgHdrs | undefined): string | undefined =>
  readTraceparent(from?.get(requestHeaders.traceparent));

export interface FollowedMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly storedAt: Date;
  /** The `traceparent` of the span that published the message. */
  readonly traceparent?: string | undefined;
  readonly body: Uint8Array;
}

export function writeHeaders(from: Readonly<Record<string, string | number | boolean | undefined>>): MsgHdrs {
  const written = natsHeaders();
  for (const [name, value] of Object.entries(from)) if (value !== undefined) written.set(name, String(value));
  return written;
}
