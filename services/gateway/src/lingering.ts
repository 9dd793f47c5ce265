// Answering before the whole request has come. Closing a connection on which a client is still sending resets
// it, and the client may never see why it was refused. So the answer goes out whole, and what still comes is
// read and dropped for a bounded while; then the connection is closed.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasBody } from './body.ts';

/** As much as this comes along with the headers anyway: Node drops it and the connection can be kept. */
const droppedBytesMax = 64 * 1024;
const drainedBytesMax = 16 * 1024 * 1024;
const drainMs = 3_000;

/** The payload to send: itself, or followed by a wait for the rest of the request. */
export function lingering<T>(request: FastifyRequest, reply: FastifyReply, payload: T): T | Readable {
  if (!isStillSending(request.raw)) return payload;
  reply.header('connection', 'close');
  if (typeof payload !== 'string' && !(payload instanceof Buffer)) return payload;
  reply.header('content-length', Buffer.byteLength(payload));
  return Readable.from(answerThenDrain(payload, request.raw), { objectMode: false });
}

function isStillSending(raw: IncomingMessage): boolean {
  if (raw.complete || raw.destroyed || !hasBody(raw)) return false;
  return (
    raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length']) > droppedBytesMax
  );
}

async function* answerThenDrain(
  payload: string | Buffer,
  raw: IncomingMessage,
): AsyncGenerator<string | Buffer> {
  // The content length tells the client that this is all; ending the stream would close the connection.
  yield payload;
  await drain(raw);
}

async function drain(raw: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, drainMs);
  let bytes = 0;
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > drainedBytesMax) resolve();
  });
  raw.once('end', resolve).once('close', resolve).once('error', resolve);
  raw.resume();
  await promise;
  clearTimeout(timer);
}
