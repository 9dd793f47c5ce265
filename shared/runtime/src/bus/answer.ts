// One request, from its message to its reply: it gets its turn, the handler works on it, and its caller is answered in
// any case, with a failure where there is nothing better.
import {
  Failure,
  replyHeaders,
  requestHeaders,
  statusOfAnswer,
  type ErrorCode,
} from '@integration-sync/contracts';
import type { Msg } from '@nats-io/nats-core';
import type { Log } from '../log.ts';
import type { Semaphore } from '../semaphore.ts';
import { readTraceparent, traceIdOf, type Attributes, type Span } from '../tracing/index.ts';
import type { Connection } from './connection.ts';
import { writeFailure } from './failures.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';
import type { Wait, Waits } from './waits.ts';

export interface BusRequest {
  subject: string;
  headers: Headers;
  body: Uint8Array;
  /** When this process began with it, by `performance.now()`. */
  arrivedAtMs: number;
  /** Until then the caller waits for the answer; epoch milliseconds, by the clock of this process. */
  deadline: number;
  /** The caller said that it does not wait any more. */
  readonly isGivenUp: boolean;
  /** By `performance.now()`: until then the caller waits for the reply. In the past where it said that it does not. */
  readonly waitedForUntilMs: number;
  /** Asks the caller. One that was told meanwhile that the request failed may have sent another one since. */
  isWaitedFor: () => Promise<boolean>;
  /** Begins a wait of this request that may take so long (waits.ts). One at a time. */
  wait: (forMs: number) => Wait;
  integration: string;
  requestId: string;
  /** For what comes of the request, where it belongs to a trace. */
  traceparent?: string | undefined;
  log: Log;
}

export interface BusReply {
  /** HTTP status of the answer, where it is another than the route says (contracts/routes). */
  status?: number;
  /** HTTP headers of the answer, lower-case. */
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array | string;
  /** For the log lines of this request, here and at the gateway. */
  logFields?: Readonly<Record<string, string | number | boolean>>;
}

export type BusHandler = (request: BusRequest) => Promise<BusReply>;

/** Room for headers beside a reply's body, inside the server's `max_payload`. */
const headerBytesMax = 64 * 1024;
const defaultTimeoutMs = 30_000;
/** In characters. */
const firstWordsMax = 1_000;

/** A request that a replica has. */
export interface RequestInHand {
  readonly message: Msg;
  /** Its caller said that it does not wait any more. */
  isGivenUp: boolean;
}

export interface Answering {
  handler: BusHandler;
  semaphore: Semaphore;
  /** Whether the log line of a request without a fault is at level debug. */
  quiet: boolean;
  waits: Waits;
}

/** What became of a request. */
export interface Answered {
  code: 'ok' | ErrorCode;
  seconds: number;
}

/** A failure that the handler throws is an answer, too. */
export async function answer(
  connection: Connection,
  inHand: RequestInHand,
  { handler, semaphore, quiet, waits }: Answering,
): Promise<Answered> {
  const startedAt = performance.now();
  const { message } = inHand;
  const headers = readHeaders(message.headers);
  const trace = openRequestTrace(connection, { subject: message.subject, headers, quiet });
  const request = readRequest(connection, inHand, { headers, traceparent: trace.traceparent, waits });
  const handle = handlerWithin(connection, trace, handler);
  let fault: unknown;
  let code: Answered['code'] = 'ok';
  let reply: BusReply = {};
  let waitedMs = 0;
  try {
    const turn = semaphore.acquire(request.integration, request.body.length);
    if (turn !== undefined) {
      await turn;
      waitedMs = performance.now() - startedAt;
    }
    try {
      reply = await handle(request);
    } finally {
      semaphore.release(request.integration);
    }
    await respond(connection, message, replyParts(connection, message.subject, reply));
  } catch (error) {
    const failure = asFailure(error, request);
    fault = failure;
    code = failure.code;
    await respond(connection, message, failureParts(connection, failure));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  closeRequestTrace(trace, { logFields: reply.logFields, waitedMs, error: fault });
  const level = code === 'internal' ? 'error' : quiet ? 'debug' : 'info';
  request.log[level](
    {
      subject: message.subject,
      outcome: code,
      durationMs: Math.round(seconds * 1e6) / 1000,
      ...(waitedMs > 0 ? { waitedMs: Math.round(waitedMs) } : {}),
      ...reply.logFields,
    },
    'request',
  );
  return { code, seconds };
}

function readRequest(
  connection: Connection,
  inHand: RequestInHand,
  { headers, traceparent, waits }: { headers: Headers; traceparent: string | undefined; waits: Waits },
): BusRequest {
  const { message } = inHand;
  const integration = headers.get(requestHeaders.integration) ?? '';
  const requestId = headers.get(requestHeaders.requestId) ?? '';
  const traceId = traceIdOf(traceparent);
  // A caller of another kind cannot be asked, and is taken to wait.
  const promisedUntilMs = headers.has(requestHeaders.sentAtMs)
    ? (connection.inbox.callers.sentAtMs(message) ?? -Infinity) +
      Number(headers.get(requestHeaders.promisedMs) ?? 0)
    : Infinity;
  return {
    subject: message.subject,
    headers,
    body: message.data,
    arrivedAtMs: performance.now(),
    deadline: Date.now() + Number(headers.get(requestHeaders.timeoutMs) ?? defaultTimeoutMs),
    get isGivenUp() {
      return inHand.isGivenUp;
    },
    get waitedForUntilMs() {
      return inHand.isGivenUp ? -Infinity : promisedUntilMs;
    },
    isWaitedFor: () =>
      connection.untilConnected().then(
        () => connection.inbox.callers.isWaiting(message),
        () => false,
      ),
    wait: (forMs) => waits.begin(message, forMs),
    integration,
    requestId,
    traceparent,
    log: connection.log.child(
      traceId === undefined ? { requestId, integration } : { requestId, integration, traceId },
    ),
  };
}

function replyParts(
  connection: Connection,
  subject: string,
  reply: BusReply,
): { headers: Record<string, string>; body: Uint8Array } {
  const body =
    typeof reply.body === 'string' ? new TextEncoder().encode(reply.body) : (reply.body ?? new Uint8Array());
  const bytesMax = bodyBytesMax(connection);
  // NATS would throw here and the caller would wait for nothing.
  if (body.length > bytesMax)
    throw new Error(
      `the reply to ${subject} has ${body.length} bytes; one NATS message may carry ${bytesMax}`,
    );
  const headers: Record<string, string> = {
    [replyHeaders.status]: String(reply.status ?? statusOfAnswer(subject)),
  };
  for (const [name, value] of Object.entries(reply.headers ?? {}))
    headers[replyHeaders.httpPrefix + name] = value;
  for (const [name, value] of Object.entries(reply.logFields ?? {})) {
    headers[replyHeaders.logPrefix + name] = String(value);
  }
  return { headers, body };
}

/** With its first words alone where all of them do not fit into a message: a failure is told in any case. */
function failureParts(connection: Connection, failure: Failure): ReturnType<typeof writeFailure> {
  const parts = writeFailure(failure);
  if (Buffer.byteLength(parts.body) <= bodyBytesMax(connection)) return parts;
  return writeFailure(new Failure(failure.code, `${failure.detail.slice(0, firstWordsMax)}…`));
}

const bodyBytesMax = ({ maxPayloadBytes }: Connection): number => maxPayloadBytes - headerBytesMax;

function asFailure(error: unknown, request: BusRequest): Failure {
  if (error instanceof Failure) {
    if (error.cause !== undefined)
      request.log.warn({ err: error, subject: request.subject }, 'request failed');
    return error;
  }
  request.log.error({ err: error, subject: request.subject }, 'request failed unexpectedly');
  return new Failure('internal', 'Something went wrong on our side; the request id leads us to it.');
}

async function respond(
  connection: Connection,
  message: Msg,
  parts: { headers: Record<string, string>; body: Uint8Array | string },
): Promise<void> {
  // What is sent while the line is down is lost.
  if (!connection.connected) await connection.untilConnected().catch(() => undefined);
  const sent = message.respond(parts.body, { headers: writeHeaders(parts.headers) });
  if (!sent) connection.log.warn({ subject: message.subject }, 'reply could not be sent');
}

// To which trace a request belongs that a service answers, and the span from its message to its reply.

interface RequestTrace {
  /** Undefined where nothing is traced. */
  span: Span | undefined;
  /** For what comes of the request; undefined where nothing is traced and its caller names no trace. */
  traceparent: string | undefined;
}

/** Of what is asked all the time, which is `quiet`, there is no span. */
function openRequestTrace(
  { tracing }: Connection,
  { subject, headers, quiet }: { subject: string; headers: Headers; quiet: boolean },
): RequestTrace {
  const given = readTraceparent(headers.get(requestHeaders.traceparent));
  if (tracing === undefined || quiet) return { span: undefined, traceparent: given };
  const span = tracing.begin({
    name: `answer ${subject}`,
    kind: 'server',
    parent: given,
    attributes: {
      'messaging.system': 'nats',
      'messaging.destination.name': subject,
      'sync.integration': headers.get(requestHeaders.integration),
      'sync.requestId': headers.get(requestHeaders.requestId),
    },
  });
  return { span, traceparent: span.traceparent };
}

/** The same handler; what it asks the database is part of the span. */
function handlerWithin<Request, Reply>(
  { tracing }: Connection,
  { span }: RequestTrace,
  handler: (request: Request) => Promise<Reply>,
): (request: Request) => Promise<Reply> {
  if (tracing === undefined || span === undefined) return handler;
  return (request) => tracing.within(span, () => handler(request));
}

function closeRequestTrace(
  { span }: RequestTrace,
  {
    logFields = {},
    waitedMs,
    error,
  }: { logFields: Attributes | undefined; waitedMs: number; error: unknown },
): void {
  if (span === undefined) return;
  const facts = Object.entries(logFields).map(([name, value]) => [`sync.${name}`, value] as const);
  span.set({ 'sync.waitedMs': Math.round(waitedMs), ...Object.fromEntries(facts) });
  span.end(error);
}
