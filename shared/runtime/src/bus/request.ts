// Asking another service: one request, one reply, one deadline.
import { requestHeaders } from '@integration-sync/contracts';
import type { Connection } from './connection.ts';
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
    [requestHeaders.deadline]: String(Date.now() + options.timeoutMs),
  });
  let message;
  try {
    message = await connection.whileConnected(() =>
      connection.nats.request(subject, options.body, { timeout: options.timeoutMs, headers }),
    );
  } catch (error) {
    throw failureOfRequest(error, subject);
  }
  const reply = { headers: readHeaders(message.headers), body: message.data };
  const failure = readFailure(reply.headers, reply.body);
  if (failure !== undefined) throw failure;
  return reply;
}
