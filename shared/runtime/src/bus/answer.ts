// How a replica answers one NATS request: the request must name a valid integration, waits for the semaphore, and the caller gets
// a reply in any case.
import {
  Failure,
  integrationPattern,
  isIntegration,
  replyHeaders,
  requestHeaders,
  statusOfAnswer,
} from '@integration-sync/contracts';
import type { Msg } from '@nats-io/nats-core';
import type { Log } from '../log.ts';
import type { RequestSeen } from '../metrics.ts';
import type { Semaphore } from '../semaphore.ts';
import { readTraceparent, traceIdOf, type SpanStart } from '../tracing/index.ts';
import type { Connection } from './connection.ts';
import { failureOfStream, writeFailure } from './failures.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';
import type { Wait, Waits } from './waits.ts';

export interface BusRequest {
  subject: string;
  headers: Headers;
  body: Uint8Array;
  /** When this process received the request, by `performance.now()`. */
  arrivedAtMs: number;
  /** Until when the caller waits for the answer, by `performance.now()`. */
  deadline: number;
  /** Whether the caller said that it no longer waits for the reply. */
  readonly isGivenUp: boolean;
  /** Until when the caller promised to wait, by `performance.now()`; in the past if the caller has given up. */
  readonly waitedForUntilMs: number;
  /** Asks the caller whether it still waits. If not, this request must not undo a newer one of the caller. */
  isWaitedFor: () => Promise<boolean>;
  /** Begins a wait of this request for an event, for `forMs` at most (waits.ts). A request has one wait at a time. */
  wait: (forMs: number) => Wait;
  integration: string;
  requestId: string;
  /** The parent of all further spans, if the request belongs to a trace. */
  traceparent?: string | undefined;
  log: Log;
}

export interface BusReply {
  /** HTTP status of the answer; by default the status that the route names (contracts/routes). */
  status?: number;
  /** HTTP headers of the answer, lower-case. */
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array | string;
  /** Fields for the log lines of this request, both of this service and of the gateway. */
  logFields?: Readonly<Record<string, string | number | boolean>>;
}

export type BusHandler = (request: BusRequest) => Promise<BusReply>;

/** Bytes of the server's `max_payload` that are kept for a reply's headers. */
const headerBytesMax = 64 * 1024;
const defaultTimeoutMs = 30_000;
/** How many characters remain of the text of a failure that does not fit into a NATS message. */
const firstWordsMax = 1_000;
/** How many characters are kept of the names of a request and of its integration, which has 64 at most. */
const nameCharactersMax = 128;

/** A request that this replica has received and not yet answered. */
export interface RequestInHand {
  readonly message: Msg;
  isGivenUp: boolean;
}

export interface Answering {
  /** The subject as the service declares it. The subject of a request may also end with the name of an integration. */
  served: string;
  handler: BusHandler;
  semaphore: Semaphore;
  /** Whether a request without an internal error is logged at level debug. */
  quiet: boolean;
  waits: Waits;
}

interface Parts {
  headers: Readonly<Record<string, string | number | boolean>>;
  body: Uint8Array | string;
}

/** Never rejects: an error that the handler throws becomes the reply. */
export async function answer(
  connection: Connection,
  inHand: RequestInHand,
  { served: subject, handler, semaphore, quiet, waits }: Answering,
): Promise<RequestSeen> {
  const startedAt = performance.now();
  const { message } = inHand;
  const pinned = message.subject === subject ? undefined : message.subject.slice(subject.length + 1);
  const headers = headersOf(message, pinned);
  const given = readTraceparent(headers.get(requestHeaders.traceparent));
  // Requests of a quiet subject, such as health checks, come every few seconds and get no span.
  const span = quiet ? undefined : connection.tracing?.begin(spanOf(subject, headers, given));
  const traceparent = span?.traceparent ?? given;
  const request = readRequest(connection, inHand, waits, { subject, headers, traceparent });
  let failure: Failure | undefined;
  let reply: BusReply = {};
  let waitedMs = 0;
  try {
    if (!quiet) checkIntegration(message, pinned);
    const turn = semaphore.acquire(request.integration, request.body.length);
    if (turn !== undefined) {
      await turn;
      waitedMs = performance.now() - startedAt;
    }
    try {
      // Within the span, the handler's operations on the database become children of the span.
      reply = await (span === undefined ? handler(request) : span.within(() => handler(request)));
    } finally {
      semaphore.release(request.integration);
    }
    await respond(connection, message, replyParts(connection, subject, reply));
  } catch (error) {
    failure = asFailure(error, request);
    await respond(connection, message, failureParts(connection, failure));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const outcome = failure?.code ?? 'ok';
  span?.set({ 'sync.waitedMs': Math.round(waitedMs), ...prefixed('sync.', reply.logFields) });
  span?.end(failure);
  const level = outcome === 'internal' ? 'error' : quiet ? 'debug' : 'info';
  request.log[level](
    {
      subject,
      outcome,
      durationMs: Math.round(seconds * 1e6) / 1000,
      ...(waitedMs > 0 ? { waitedMs: Math.round(waitedMs) } : {}),
      ...reply.logFields,
    },
    'request',
  );
  return { subject, outcome, seconds };
}

/** The integration `pinned` in the subject wins over the header: permissions and imports of NATS see the subject alone. */
function headersOf(message: Msg, pinned: string | undefined): Headers {
  const headers = readHeaders(message.headers);
  return pinned === undefined ? headers : new Map([...headers, [requestHeaders.integration, pinned]]);
}

/** Throws a `Failure` unless the request names exactly one integration. */
function checkIntegration(message: Msg, pinned: string | undefined): void {
  const named = pinned === undefined ? (message.headers?.values(requestHeaders.integration) ?? []) : [pinned];
  if (named.length === 1 && named.every(isIntegration)) return;
  const came =
    named.length === 0 ? 'nothing' : named.map((name) => JSON.stringify(name.slice(0, 80))).join(' and ');
  throw new Failure(
    'invalid_request',
    `The ${pinned === undefined ? `header ${requestHeaders.integration}` : 'end of the subject'} must name one integration (${integrationPattern}), and names ${came}.`,
  );
}

/** Another system may send a name of a megabyte, which each log line of the request would repeat. */
const nameIn = (headers: Headers, name: string): string | undefined =>
  headers.get(name)?.slice(0, nameCharactersMax);

const spanOf = (subject: string, headers: Headers, parent: string | undefined): SpanStart => ({
  name: `answer ${subject}`,
  kind: 'server',
  parent,
  attributes: {
    'messaging.system': 'nats',
    'messaging.destination.name': subject,
    'sync.integration': nameIn(headers, requestHeaders.integration),
    'sync.requestId': nameIn(headers, requestHeaders.requestId),
  },
});

function readRequest(
  connection: Connection,
  inHand: RequestInHand,
  waits: Waits,
  { subject, headers, traceparent }: Pick<BusRequest, 'subject' | 'headers' | 'traceparent'>,
): BusRequest {
  const { message } = inHand;
  const integration = nameIn(headers, requestHeaders.integration) ?? '';
  const requestId = nameIn(headers, requestHeaders.requestId) ?? '';
  const log = connection.log.child({ requestId, integration, traceId: traceIdOf(traceparent) });
  const tellSilence = (unheard: string, error: unknown): void =>
    log.warn(
      { err: error, subject: unheard },
      'a caller does not say whether it waits for the reply: its process is gone, or this login may not ask on the subject',
    );
  // A caller of another system sends no `sentAtMs` and cannot be asked, so the replica assumes that this caller waits.
  const promisedUntilMs = headers.has(requestHeaders.sentAtMs)
    ? (connection.inbox.callers.sentAtMs(message) ?? -Infinity) +
      Number(headers.get(requestHeaders.promisedMs) ?? 0)
    : Infinity;
  return {
    subject,
    headers,
    body: message.data,
    arrivedAtMs: performance.now(),
    deadline: performance.now() + Number(headers.get(requestHeaders.timeoutMs) ?? defaultTimeoutMs),
    get isGivenUp() {
      return inHand.isGivenUp;
    },
    get waitedForUntilMs() {
      return inHand.isGivenUp ? -Infinity : promisedUntilMs;
    },
    isWaitedFor: () =>
      connection.untilConnected().then(
        () => connection.inbox.callers.isWaiting(message, tellSilence),
        () => false,
      ),
    wait: (forMs) => waits.begin(message, forMs),
    integration,
    requestId,
    traceparent,
    log,
  };
}

function replyParts(connection: Connection, subject: string, reply: BusReply): Parts {
  const { status = statusOfAnswer(subject), body = '' } = reply;
  const bytes = Buffer.byteLength(body);
  const bytesMax = bodyBytesMax(connection);
  // For a reply beyond `max_payload` the NATS client would throw, and the caller would wait in vain.
  if (bytes > bytesMax)
    throw new Error(`the reply to ${subject} has ${bytes} bytes; one NATS message may carry ${bytesMax}`);
  const headers = {
    [replyHeaders.status]: String(status),
    ...prefixed(replyHeaders.httpPrefix, reply.headers),
    ...prefixed(replyHeaders.logPrefix, reply.logFields),
  };
  return { headers, body };
}

const prefixed = <T>(prefix: string, fields: Readonly<Record<string, T>> = {}): Record<string, T> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [prefix + name, value]));

function failureParts(connection: Connection, failure: Failure): Parts {
  const parts = writeFailure(failure);
  if (Buffer.byteLength(parts.body) <= bodyBytesMax(connection)) return parts;
  return writeFailure(new Failure(failure.code, `${failure.detail.slice(0, firstWordsMax)}…`));
}

const bodyBytesMax = ({ maxPayloadBytes }: Connection): number => maxPayloadBytes - headerBytesMax;

function asFailure(error: unknown, request: BusRequest): Failure {
  const failure = error instanceof Failure ? error : failureOfStream(error);
  if (failure !== undefined) {
    if (failure.cause !== undefined)
      request.log.warn({ err: failure, subject: request.subject }, 'request failed');
    return failure;
  }
  request.log.error({ err: error, subject: request.subject }, 'request failed unexpectedly');
  return new Failure('internal', 'Something went wrong on our side; the request id leads us to it.');
}

async function respond(connection: Connection, message: Msg, parts: Parts): Promise<void> {
  // A reply that is sent while the NATS connection is down is lost.
  if (!connection.connected) await connection.untilConnected().catch(() => undefined);
  const sent = message.respond(parts.body, { headers: writeHeaders(parts.headers) });
  if (!sent)
    connection.log.warn(
      { subject: message.subject },
      'a reply could not be sent, as the NATS connection is closed',
    );
}
