// The headers of a NATS message as plain maps, the form in which the rest of the system sees them.
import { callerSubject, requestHeaders } from '@integration-sync/contracts';
import { headers as natsHeaders, type Msg, type MsgHdrs } from '@nats-io/nats-core';
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

// Who sent a request, and whether a replica may answer. The replica publishes its answer with its own rights, so the subject for
// the reply must be an inbox.

/** How the caller names its request (`reply`), and the subject on which it hears signs of life. */
export function callerOf({ reply = '', headers }: Msg) {
  const named = headers?.get(requestHeaders.caller) ?? '';
  const signs = callerSubject(named);
  return signs === undefined ? { reply, signs: reply } : { reply: named, signs };
}

/** An inbox of a service (`_INBOX_catalog.…`) or of another client (`_INBOX.…`, `_INBOX_my_service.…`), or `_R_.…` for either between accounts. */
const inbox = /^(_INBOX(_[\w-]+)?|_R_)\../;
/** nats-server adds this header to requests that one account imports from another. */
const ofImport = 'nats-request-info';

/** Whether a client asks for an answer. A message that JetStream delivers has another reply subject, or headers of JetStream. */
export const isQuestion = ({ reply = '', headers }: Msg): boolean =>
  inbox.test(reply) && (headers?.keys() ?? []).every((name) => isOfClient(name.toLowerCase()));

const isOfClient = (name: string): boolean => !name.startsWith('nats-') || name === ofImport;
