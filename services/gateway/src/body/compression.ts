// Compressed answers, for callers that ask for them by `Accept-Encoding` (RFC 9110, 12.5.3). The levels are the cheapest ones: a
// page of 100 records with details becomes a seventh (gzip) to a tenth (zstd) of its bytes, on a thread beside the event loop.
//
//   the caller asks for              it gets
//   ───────────────────────────────  ─────────────────────────────────────────────────────────────
//   several of zstd, br and gzip     the one that it weighs most; of equals the first in this order
//   none of them, or nonsense        the plain bytes, even where it refuses `identity`
//   identity above all others        the plain bytes
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Below it compression saves less than a packet. */
const leastBytes = 1024;

type Compress = (bytes: Buffer) => Promise<Buffer>;

const [gzipped, brotlied, zstded] = [promisify(gzip), promisify(brotliCompress), promisify(zstdCompress)];

/** By the names of codings, the one to prefer first. */
const codings: ReadonlyMap<string, Compress> = new Map<string, Compress>([
  ['zstd', (bytes) => zstded(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })],
  [
    'br',
    (bytes) =>
      brotlied(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: 1,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      }),
  ],
  ['gzip', (bytes) => gzipped(bytes, { level: 1 })],
]);

const isIncompressible = (type: unknown): boolean => typeof type === 'string' && type.startsWith('image/');

export interface Chosen {
  /** Undefined for the plain bytes. */
  coding: string | undefined;
  /** Also of a small answer. */
  isIdentityRefused: boolean;
}

/** Which coding the header asks for. */
export function chooseCoding(accept: string): Chosen {
  const weights = weightsIn(accept);
  const others = weights.get('*') ?? 0;
  const identity = weights.get('identity');
  let coding: string | undefined;
  let most = 0;
  for (const name of codings.keys()) {
    const weight = weights.get(name) ?? others;
    if (weight <= most) continue;
    coding = name;
    most = weight;
  }
  const isPlainPreferred = identity !== undefined && identity > most;
  return {
    coding: isPlainPreferred ? undefined : coding,
    isIdentityRefused: identity === 0 || (identity === undefined && weights.get('*') === 0),
  };
}

/** Of each coding that the header names as the grammar has it; of one that stands there twice, the first. */
function weightsIn(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const element of accept.split(',')) {
    const { name, weight } =
      /^[ \t]*(?<name>[\w!#$%&'*+.^`|~-]+)(?:[ \t]*;[ \t]*q=(?<weight>0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?[ \t]*$/i.exec(
        element,
      )?.groups ?? {};
    if (name === undefined) continue;
    const coding = name.toLowerCase().replace(/^x-gzip$/, 'gzip');
    if (!weights.has(coding)) weights.set(coding, weight === undefined ? 1 : Number(weight));
  }
  return weights;
}

/** The payload itself where it stays as it is. */
export type CompressAnswer = <T>(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: T,
) => T | Promise<Buffer>;

export function openCompression(): CompressAnswer {
  /** Of the gateway's own pages, which are the same bytes each time. */
  const pages = new WeakMap<Buffer, Map<string, Promise<Buffer>>>();

  const compressed = (
    coding: string,
    compress: Compress,
    bytes: Buffer,
    isPage: boolean,
  ): Promise<Buffer> => {
    if (!isPage) return compress(bytes);
    const known = pages.get(bytes) ?? new Map<string, Promise<Buffer>>();
    pages.set(bytes, known);
    const result = known.get(coding) ?? compress(bytes);
    known.set(coding, result);
    return result;
  };

  return (request, reply, payload) => {
    const isText = typeof payload === 'string';
    if (!isText && !(payload instanceof Buffer)) return payload;
    const bytes = isText ? Buffer.byteLength(payload) : payload.length;
    if (bytes === 0 || isIncompressible(reply.getHeader('content-type'))) return payload;
    const accept = request.headers['accept-encoding'];
    const isLarge = bytes >= leastBytes;
    // A small answer differs only for callers that refuse its plain bytes.
    if (isLarge) reply.header('vary', 'Accept-Encoding');
    if (accept === undefined) return payload;
    const { coding = '', isIdentityRefused } = chooseCoding(accept);
    const compress = codings.get(coding);
    if (compress === undefined || (!isLarge && !isIdentityRefused)) return payload;
    reply.header('content-encoding', coding).header('vary', 'Accept-Encoding').removeHeader('content-length');
    const isPage = request.exchange.upstream === undefined;
    return compressed(coding, compress, isText ? Buffer.from(payload) : payload, isPage);
  };
}
