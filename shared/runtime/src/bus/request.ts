// Asking another service: one request, one reply, one deadline. It is sent once more where no replica has got it, and, if
// it may be done twice, where the line dropped before the reply came.
import { setTimeout as wait } from 'node:timers/promises';
import { requestHeaders } from '@integration-sync/contracts';
import { NoRespondersError, TimeoutError, type Msg } from '@nats-io/nats-core';
import { spanning } from '../tracing/index.ts';
import type { Connection } from './connection.ts';
import { failureOfRequest, readFailure } from './failures.ts';
import { serviceOf } from './inbox.ts';
import { Disconnected } from './line.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';

export interface RequestOptions {
  headers?: Readonly<Record<string, string | undefined>>;
  body?: Uint8Array | string;
  timeoutMs: number;
  /** Fires when the reply is not waited for any more; with its reason the request fails. */
  signal?: AbortSignal;
  /** It changes nothing, so that it may be done twice. */
  repeatable?: boolean;
}

export interface Reply {
  headers: Headers;
  body: Uint8Array;
}

/**
 * For so long after it was sent a request never fails for a reason of our own, and where its caller hangs up the replicas
 * hear it at once; so a replica need not ask meanwhile whether it is still waited for.
 */
const waitedForMs = 500;
/** Replicas of a service that lost their server are back after a few of these. */
const againMs = 50;

/** Throws the `Failure` that the service answered with, or the one that says why it could not be asked. */
export function sendRequest(
  connection: Connection,
  subject: string,
  options: RequestOptions,
): Promise<Reply> {
  const parent = options.headers?.[requestHeaders.traceparent];
  // What asks all the time, as readiness does, belongs to no trace.
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
      const message = await askOnce(connection, subject, { ...options, timeoutMs: endMs - sentAtMs });
      absences.end(service);
      return message;
    } catch (error) {
      if (error instanceof NoRespondersError && absences.mayEnd(service)) {
        await wait(againMs, undefined, { ref: false });
        if (options.signal?.aborted !== true) continue;
      }
      if (error instanceof Disconnected && options.repeatable === true) continue;
      const failure = failureOfRequest(error, subject);
      // The request may have been handed on before the line went down.
      if (!(error instanceof NoRespondersError)) await waitUntil(sentAtMs + waitedForMs);
      throw failure;
    }
  }
}

async function askOnce({ inbox }: Connection, subject: string, options: RequestOptions): Promise<Msg> {
  const { headers, body, timeoutMs, signal } = options;
  if (timeoutMs <= 0) throw new TimeoutError();
  return inbox.ask(subject, {
    headers: writeHeaders({
      ...headers,
      // Not when it ends: clocks of different machines differ.
      [requestHeaders.timeoutMs]: String(Math.ceil(timeoutMs)),
      [requestHeaders.sentAtMs]: String(performance.now()),
      [requestHeaders.promisedMs]: String(waitedForMs),
    }),
    body,
    timeoutMs,
    signal,
  });
}

/** By `performance.now()`, and not before: a timer may come a millisecond too early. */
async function waitUntil(momentMs: number): Promise<void> {
  while (performance.now() < momentMs) await wait(Math.ceil(momentMs - performance.now()));
}
