// Asking another service: one request, one reply, one deadline.
import { requestHeaders } from '@integration-sync/contracts';
import { disconnected, type Connection } from './connection.ts';
import { failureOfRequest, readFailure } from './failures.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';

export interface RequestOptions {
  headers?: Readonly<Record<string, string | undefined>>;
  body?: Uint8Array | string;
  timeoutMs: number;
}

export interface Reply {
  headers: Headers;
  body: Uint8Array;
}

/** Throws the `Failure` that the service answered with, or the one that says why it could not be asked. */
export async function sendRequest(
  connection: Connection,
  subject: string,
  options: RequestOptions,
): Promise<Reply> {
  const headers = writeHeaders({
    ...options.headers,
    // Not when it ends: clocks of different machines differ.
    [requestHeaders.timeoutMs]: String(options.timeoutMs),
  });
  let message;
  try {
    if (!connection.connected) throw disconnected();
    message = await connection.inbox.ask(subject, {
      headers,
      body: options.body,
      timeoutMs: options.timeoutMs,
    });
  } catch (error) {
    throw failureOfRequest(error, subject);
  }
  const reply = { headers: readHeaders(message.headers), body: message.data };
  const failure = readFailure(reply.headers, reply.body);
  if (failure !== undefined) throw failure;
  return reply;
}
