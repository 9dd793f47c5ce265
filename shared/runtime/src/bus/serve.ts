// Answering requests: every replica of a service joins its queue group, works on a bounded number of a kind at a time
// in turns over integrations, says "busy" to what waits too long for its turn, and never lets a request go without an
// answer. Of what takes long it says every second that it still has it in hand.
import { Failure, replyHeaders, requestHeaders, type ErrorCode } from '@integration-sync/contracts';
import type { Msg, Subscription } from '@nats-io/nats-core';
import { openGate, type Gate, type WaitingRoom } from '../gate.ts';
import type { Log } from '../log.ts';
import type { Connection } from './connection.ts';
import { announceService, type EndpointTally } from './discovery.ts';
import { writeFailure } from './failures.ts';
import { signEveryMs, signOfLife } from './inbox.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';
import { patiently } from './patience.ts';
import { waitedForMs } from './request.ts';

export interface BusRequest {
  subject: string;
  headers: Headers;
  body: Uint8Array;
  /** Until then somebody waits for the answer; epoch milliseconds, by the clock of this process. */
  deadline: number;
  /** By `performance.now()`: until then the caller waits for the reply, unless it hangs up. */
  waitedForUntilMs: number;
  /** Asks the caller. One that was told meanwhile that the request failed may have sent another one since. */
  isWaitedFor: () => Promise<boolean>;
  integration: string;
  requestId: string;
  log: Log;
}

export interface BusReply {
  /** HTTP status of the answer; 200 unless given. */
  status?: number;
  /** HTTP headers of the answer, lower-case. */
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array | string;
  /** For the log lines of this request, here and at the gateway. */
  logFields?: Readonly<Record<string, string | number | boolean>>;
}

export type BusHandler = (request: BusRequest) => Promise<BusReply>;

export interface ServiceOptions {
  service: string;
  version: string;
  description: string;
  /**
   * How many requests of one subject this replica works on at once: many of one kind keep no other from its turn. The
   * others wait in turns over integrations.
   */
  inFlightMax: number;
  /** For subjects that share the places of a gate with one another. */
  gates?: Readonly<Record<string, Gate>>;
  handlers: Readonly<Record<string, BusHandler>>;
  /** Subjects that are asked often and say little; their log lines are at level debug. */
  quiet?: readonly string[];
}

export type ObserveRequest = (seen: { subject: string; outcome: 'ok' | ErrorCode; seconds: number }) => void;

const mebibyte = 1024 * 1024;
/** For what is large: a push of 500 items is some 100 KB, and 5 MiB at most. */
export const largeRoom: WaitingRoom = {
  countMax: 2_000,
  bytesMax: 128 * mebibyte,
  shareMax: 1 / 4,
  patienceMs: 2_000,
};
/** For one kind of questions, which are short: with 500 ids one has 130 KB. */
const smallRoom: WaitingRoom = { ...largeRoom, bytesMax: 32 * mebibyte };

/** Room for headers beside a reply's body, inside the server's `max_payload`. */
const headerBytesMax = 64 * 1024;
const defaultTimeoutMs = 30_000;
/** In characters. */
const firstWordsMax = 1_000;

export async function serve(
  connection: Connection,
  options: ServiceOptions,
  observe: ObserveRequest,
): Promise<AsyncDisposable> {
  const inHand = new Map<Promise<void>, { message: Msg; isOld: boolean }>();
  const tallies: EndpointTally[] = [];
  const subscriptions: Subscription[] = [];

  for (const [subject, handler] of Object.entries(options.handlers)) {
    const tally: EndpointTally = {
      subject,
      queue: options.service,
      requests: 0,
      errors: 0,
      lastError: '',
      nanos: 0,
    };
    tallies.push(tally);
    const gate = options.gates?.[subject] ?? openGate(options.inFlightMax, smallRoom);
    const take = (message: Msg): void => {
      const work = answer(connection, options, handler, message, gate).then((outcome) => {
        inHand.delete(work);
        tally.requests += 1;
        tally.nanos += Math.round(outcome.seconds * 1e9);
        if (outcome.code !== 'ok') {
          tally.errors += 1;
          tally.lastError = outcome.code;
        }
        observe({ subject, outcome: outcome.code, seconds: outcome.seconds });
      });
      inHand.set(work, { message, isOld: false });
    };
    subscriptions.push(
      connection.nats.subscribe(subject, {
        queue: options.service,
        callback: (error, message) => {
          if (error === null) take(message);
          else connection.log.error({ err: error, subject }, 'subscription failed');
        },
      }),
    );
  }
  const signs = setInterval(() => {
    for (const one of inHand.values()) {
      if (one.isOld) showInHand(one.message);
      one.isOld = true;
    }
  }, signEveryMs);
  const discovery = announceService(connection, options, tallies);
  // The server has seen the subscriptions once this returns, so whoever is told "ready" can be asked. Where the line
  // drops meanwhile, the client subscribes again by itself when it is back.
  await patiently(connection, `subscriptions of ${options.service}`, () => connection.nats.flush());

  return {
    async [Symbol.asyncDispose]() {
      discovery[Symbol.dispose]();
      using _signs = { [Symbol.dispose]: () => clearInterval(signs) };
      if (connection.connected) await Promise.all(subscriptions.map((subscription) => subscription.drain()));
      while (inHand.size > 0) await Promise.all(inHand.keys());
      // A reply counts as sent only when the server has it.
      if (connection.connected) await connection.nats.flush();
    },
  };
}

interface Outcome {
  code: 'ok' | ErrorCode;
  seconds: number;
}

async function answer(
  connection: Connection,
  options: ServiceOptions,
  handler: BusHandler,
  message: Msg,
  gate: Gate,
): Promise<Outcome> {
  const startedAt = performance.now();
  const request = readRequest(connection, message);
  let code: Outcome['code'] = 'ok';
  let reply: BusReply = {};
  let waitedMs = 0;
  try {
    const turn = gate.enter(request.integration, request.body.length);
    if (turn !== undefined) {
      await turn;
      waitedMs = performance.now() - startedAt;
    }
    try {
      reply = await handler(request);
    } finally {
      gate.leave(request.integration);
    }
    respond(connection, message, replyParts(connection, reply));
  } catch (error) {
    const failure = asFailure(error, request);
    code = failure.code;
    respond(connection, message, failureParts(connection, failure));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const level =
    code === 'internal' ? 'error' : options.quiet?.includes(message.subject) === true ? 'debug' : 'info';
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

function readRequest(connection: Connection, message: Msg): BusRequest {
  const headers = readHeaders(message.headers);
  const integration = headers.get(requestHeaders.integration) ?? '';
  const requestId = headers.get(requestHeaders.requestId) ?? '';
  return {
    subject: message.subject,
    headers,
    body: message.data,
    deadline: Date.now() + Number(headers.get(requestHeaders.timeoutMs) ?? defaultTimeoutMs),
    // A caller of another kind cannot be asked, and is taken to wait.
    waitedForUntilMs: headers.has(requestHeaders.sentAtMs)
      ? (connection.inbox.sentAtMs(message) ?? -Infinity) + waitedForMs
      : Infinity,
    isWaitedFor: async () => connection.connected && (await connection.inbox.isWaitedFor(message)),
    integration,
    requestId,
    log: connection.log.child({ requestId, integration }),
  };
}

function replyParts(
  connection: Connection,
  reply: BusReply,
): { headers: Record<string, string>; body: Uint8Array } {
  const body =
    typeof reply.body === 'string' ? new TextEncoder().encode(reply.body) : (reply.body ?? new Uint8Array());
  const bytesMax = bodyBytesMax(connection);
  // NATS would throw here and the caller would wait for nothing.
  if (body.length > bytesMax) throw new Error(`reply of ${body.length} bytes is over ${bytesMax}`);
  const headers: Record<string, string> = { [replyHeaders.status]: String(reply.status ?? 200) };
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

/** Only to one of ours, who waits for more than the first message: it says for how long. */
function showInHand(message: Msg): void {
  if (message.headers?.has(requestHeaders.timeoutMs) === true) {
    message.respond(undefined, { headers: signOfLife });
  }
}

function respond(
  connection: Connection,
  message: Msg,
  parts: { headers: Record<string, string>; body: Uint8Array | string },
): void {
  const sent = message.respond(parts.body, { headers: writeHeaders(parts.headers) });
  if (!sent) connection.log.warn({ subject: message.subject }, 'reply could not be sent');
}
