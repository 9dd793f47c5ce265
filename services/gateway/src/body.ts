// The body of a request, as bytes: what it may be declared as, how much of it is taken, and collecting it.
// Nothing is parsed here; the service that owns the rules does that, once.
import type { IncomingMessage } from 'node:http';
import { Failure } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Pieces } from './pieces.ts';

/** How many bytes of memory unfinished bodies take in one process at a time: a flood of slow uploads is turned away here. */
const heldBytesMax = 256 * 1024 * 1024;

/** Checks what the headers declare. No body at all passes: whether one is needed is for the service to say. */
export function checkDeclaration(request: FastifyRequest, reply: FastifyReply, bytesMax: number): void {
  const { headers } = request.raw;
  const type = headers['content-type'];
  if ((type !== undefined || hasBody(request.raw)) && !isJson(type)) {
    reply.header('accept', 'application/json');
    throw new Failure(
      'unsupported_media_type',
      `Send the body with the header "Content-Type: application/json", in UTF-8; ${type === undefined ? 'there was none' : `it was ${quoted(type)}`}.`,
    );
  }
  const coding = headers['content-encoding'] ?? '';
  if (coding !== '' && coding.toLowerCase() !== 'identity') {
    reply.header('accept-encoding', 'identity');
    throw new Failure(
      'unsupported_media_type',
      `Send the body as it is, without Content-Encoding ${quoted(coding)}.`,
    );
  }
  const transfer = headers['transfer-encoding'];
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    throw new Failure(
      'unsupported_media_type',
      `Send the body as it is, without Transfer-Encoding ${quoted(transfer)}.`,
    );
  }
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** JSON is UTF-8, and may say so. Other parameters mean nothing and are ignored. */
function isJson(type = ''): boolean {
  const [essence = '', ...parameters] = type.toLowerCase().split(';');
  if (essence.trim() !== 'application/json') return false;
  return parameters
    .map((parameter) => parameter.trim())
    .filter((parameter) => parameter.startsWith('charset='))
    .every((parameter) => /^charset="?utf-?8"?$/.test(parameter));
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));

const tooLarge = (bytesMax: number): Failure =>
  new Failure(
    'body_too_large',
    `The body is larger than ${bytesMax} bytes. Split the push into smaller ones.`,
  );

export type CollectBody = (request: FastifyRequest, reply: FastifyReply, bytesMax: number) => Promise<Buffer>;

/** Collectors of one process share one bound on what they hold. */
export function openBodies(heldMax: number = heldBytesMax): CollectBody {
  let held = 0;

  return async ({ raw, exchange }, reply, bytesMax) => {
    // A client that asked first has waited until now, and was let in.
    if (/^100-continue$/i.test(raw.headers.expect ?? '')) reply.raw.writeContinue();
    const pieces = new Pieces();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onData = (chunk: Buffer): void => {
      held += pieces.add(chunk);
      if (pieces.bytes > bytesMax) reject(tooLarge(bytesMax));
      else if (held > heldMax) reject(busy());
    };
    const onCut = (): void => {
      // A body that came whole is closed as well.
      if (!raw.complete) reject(new Failure('invalid_request', 'The body ended before it was complete.'));
    };
    raw.on('data', onData).once('end', resolve).once('close', onCut).once('error', onCut);
    try {
      await promise;
      return pieces.join();
    } finally {
      held -= pieces.heldBytes;
      exchange.bytesIn = pieces.bytes;
      raw.off('data', onData).off('end', resolve).off('close', onCut);
    }
  };
}

const busy = (): Failure =>
  new Failure('unavailable', 'Too many uploads are under way; try again shortly.', { retryAfterSeconds: 2 });
