// Answers before the whole request has come. If the gateway closed a connection on which a client is still sending, TCP
// would reset the connection, and the client might never see the answer. So the gateway sends the whole answer, reads
// and drops the rest of the request for a bounded while, and then closes the connection.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Up to this size Node itself drops an unread body, which the client may have sent together with the headers. */
const droppedBytesMax = 64 * 1024;
const drainedBytesMax = 16 * 1024 * 1024;
const drainMs = 3_000;

/** Returns the answer's payload. While the client is still sending its request, the payload is a stream that ends after the request. */
export function lingering<T>(request: FastifyRequest, reply: FastifyReply, payload: T): T | Readable {
  if (!isStillSending(request.raw)) return payload;
  reply.header('connection', 'close');
  if (typeof payload !== 'string' && !(payload instanceof Buffer)) return payload;
  reply.header('content-length', Buffer.byteLength(payload));
  return Readable.from(answerThenDrain(payload, request.raw), { objectMode: false });
}

const isStillSending = ({ complete, destroyed, headers }: IncomingMessage): boolean =>
  !complete &&
  !destroyed &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > droppedBytesMax);

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
