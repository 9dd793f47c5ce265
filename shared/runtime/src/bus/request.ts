// Asking another service: one request, one reply, one deadline.
import { setTimeout as wait } from 'node:timers/promises';
import { requestHeaders } from '@integration-sync/contracts';
import { NoRespondersError } from '@nats-io/nats-core';
import { spanning } from '../tracing/index.ts';
import { disconnected, type Connection } from './connection.ts';
import { failureOfRequest, readFailure } from './failures.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';

export interface RequestOptions {
  headers?: Readonly<Record<string, string | undefined>>;
  body?: Uint8Array | string;
  timeoutMs: number;
  /** Fires when the reply is not waited for any more; with its reason the request fails. */
  signal?: AbortSignal;
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
  const sentAtMs = performance.now();
  const headers = writeHeaders({
    ...options.headers,
    // Not when it ends: clocks of different machines differ.
    [requestHeaders.timeoutMs]: String(options.timeoutMs),
    [requestHeaders.sentAtMs]: String(sentAtMs),
    [requestHeaders.promisedMs]: String(waitedForMs),
  });
  if (!connection.connected) throw disconnected();
  let message;
  try {
    message = await connection.inbox.ask(subject, {
      headers,
      body: options.body,
      timeoutMs: options.timeoutMs,
      signal: options.signal,
    });
  } catch (error) {
    const failure = failureOfRequest(error, subject);
    // The request may have been handed on before the line went down.
    if (!(error instanceof NoRespondersError)) await waitUntil(sentAtMs + waitedForMs);
    throw failure;
  }
  const reply = { headers: readHeaders(message.headers), body: message.data };
  const failure = readFailure(reply.headers, reply.body);
  if (failure !== undefined) throw failure;
  return reply;
}

/** By `performance.now()`, and not before: a timer may come a millisecond too early. */
async function waitUntil(momentMs: number): Promise<void> {
  while (performance.now() < momentMs) await wait(Math.ceil(momentMs - performance.now()));
}
