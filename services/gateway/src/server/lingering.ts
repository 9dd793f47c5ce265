// Answers before the whole request has come. If the gateway closed a connection on which a client is still sending, TCP
// would reset the connection, and the client might never see the answer. So the gateway sends the whole answer, reads
// and drops the rest of the request for a bounded while, and then closes the connection.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasBody } from '../body/body-headers.ts';

/**
 * The size of a body that a client may have sent together with the headers. Node drops such a body, and the connection stays
 * open.
 */
const droppedBytesMax = 64 * 1024;
const drainedBytesMax = 16 * 1024 * 1024;
const drainMs = 3_000;

/**
 * Returns the payload; or, while the client is still sending, a stream of the payload that ends after the rest of the request has
 * come.
 */
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

async function* answerThenDrain(payload: string | Buffer, raw: IncomingMessage) {
  // The content length tells the client where the answer ends; the end of the stream would close the connection.
  yield payload;
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
