// Sends a request to another service: one request, one reply, one deadline. A request without responders is sent again. A
// repeatable request is also sent again if the NATS connection dropped, or the replica died, before the reply came.
import { setTimeout as wait } from 'node:timers/promises';
import { requestHeaders } from '@integration-sync/contracts';
import { NoRespondersError, TimeoutError, type Msg, type MsgHdrs } from '@nats-io/nats-core';
import { spanning } from '../tracing/index.ts';
import type { Connection } from './connection.ts';
import { failureOfRequest, readFailure } from './failures.ts';
import { GoneSilent, serviceOf } from './inbox.ts';
import { Disconnected } from './connectivity.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';

export interface RequestOptions {
  headers?: Readonly<Record<string, string | undefined>>;
  body?: Uint8Array | string;
  timeoutMs: number;
  /** A signal that aborts when the caller no longer waits for the reply: the request then fails with its reason. */
  signal?: AbortSignal;
  /** Whether a service may carry out the request twice, because the request changes nothing. */
  repeatable?: boolean;
}

export interface Reply {
  headers: Headers;
  body: Uint8Array;
}

/**
 * For this long after sending, a caller promises to wait: `sendRequest` does not fail, and if the HTTP client hangs up, it tells
 * the replicas. During this time a replica need not ask whether the caller still waits.
 */
const waitedForMs = 500;
/** The pause before a request without responders is sent again. After a few pauses the replicas are connected again. */
const againMs = 50;

/** Throws the `Failure` that the service answered with, or a `Failure` that says why no answer came. */
export function sendRequest(
  connection: Connection,
  subject: string,
  options: RequestOptions,
): Promise<Reply> {
  const parent = options.headers?.[requestHeaders.traceparent];
  // Periodic requests, such as those for readiness, have no `traceparent`.
  if (connection.tracing === undefined || parent === undefined) return send(connection, subject, options);
  const span = connection.tracing.begin({
    name: `ask ${subject}`,
    kind: 'client',
    parent,
    attributes: { 'messaging.system': 'nats', 'messaging.destination.name': subject },
  });
  const headers = { ...options.headers, [requestHeaders.traceparent]: span.traceparent };
  return spanning(span, () => send(connection, subject, { ...options, headers }));
}

async function send(connection: Connection, subject: string, options: RequestOptions): Promise<Reply> {
  const message = await ask(connection, subject, options);
  const reply = { headers: readHeaders(message.headers), body: message.data };
  const failure = readFailure(reply.headers, reply.body);
  if (failure !== undefined) throw failure;
  return reply;
}

async function ask(connection: Connection, subject: string, options: RequestOptions): Promise<Msg> {
  const { absences } = connection;
  const service = serviceOf(subject);
  const endMs = performance.now() + options.timeoutMs;
  for (;;) {
    await connection.untilConnected();
    const sentAtMs = performance.now();
    try {
      const timeoutMs = endMs - sentAtMs;
      if (timeoutMs <= 0) throw new TimeoutError();
      const headers = (reply: string | undefined): MsgHdrs =>
        writeHeaders({
          ...options.headers,
          [requestHeaders.caller]: reply,
          // The header has a duration, not a moment, because the clocks of machines differ.
          [requestHeaders.timeoutMs]: Math.ceil(timeoutMs),
          [requestHeaders.sentAtMs]: performance.now(),
          [requestHeaders.promisedMs]: waitedForMs,
        });
      const { body, signal } = options;
      const message = await connection.inbox.ask(subject, { headers, body, timeoutMs, signal });
      absences.end(service);
      return message;
    } catch (error) {
      if (error instanceof NoRespondersError && absences.mayEnd(service)) {
        await wait(againMs, undefined, { ref: false });
        if (options.signal?.aborted !== true) continue;
      }
      const isLost = error instanceof Disconnected || error instanceof GoneSilent;
      if (isLost && options.repeatable === true) continue;
      const failure = failureOfRequest(error, subject);
      // A replica may have the request, and relies on the promise to wait, so the request fails only after `waitedForMs`.
      if (!(error instanceof NoRespondersError)) await waitUntil(sentAtMs + waitedForMs);
      throw failure;
    }
  }
}

/** Resolves at `momentMs` by `performance.now()`, never earlier: a timer may fire a millisecond too early. */
async function waitUntil(momentMs: number): Promise<void> {
  while (performance.now() < momentMs) await wait(Math.ceil(momentMs - performance.now()));
}
