// Answering before the whole request has come. If the gateway closed a connection on which a client is still sending,
// TCP would reset it, and the client might never see why it was refused. So the gateway sends the whole answer, reads
// and drops what still comes for a bounded while, and then closes the connection.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasBody } from '../body/body-headers.ts';

/** So much comes along with the headers anyway: Node drops it, and the gateway can keep the connection. */
const droppedBytesMax = 64 * 1024;
const drainedBytesMax = 16 * 1024 * 1024;
const drainMs = 3_000;

/** The payload, or a stream of it that ends only after the rest of the request has come. */
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
  // By the content length the client knows that this is all; the end of the stream would close the connection.
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
