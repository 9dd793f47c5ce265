// Compressed answers, for callers that ask for them by `Accept-Encoding` (RFC 9110, 12.5.3). The levels are the cheapest ones: a
// page of 100 records with details becomes a seventh (gzip) to a tenth (zstd) of its bytes, on a thread beside the event loop.
// Pages of the gateway itself, such as the console, are compressed once, and at higher levels.
//
//   the caller asks for              the answer is
//   ───────────────────────────────  ─────────────────────────────────────────────────────────────
//   several of zstd, br and gzip     the coding that the caller weighs most; of equals the first
//   no such coding, or nonsense      the plain bytes, even where the caller refuses `identity`
//   identity above all others        the plain bytes
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Shorter answers are not compressed: their compression would save less than one network packet. */
const leastBytes = 1024;

type Compress = (bytes: Buffer, isOnce: boolean) => Promise<Buffer>;

const [gzipped, brotlied, zstded] = [promisify(gzip), promisify(brotliCompress), promisify(zstdCompress)];

/** Codings by name, in the order of preference. */
const codings: ReadonlyMap<string, Compress> = new Map<string, Compress>([
  [
    'zstd',
    (bytes, isOnce) => zstded(bytes, { params: { [constants.ZSTD_c_compressionLevel]: isOnce ? 15 : 1 } }),
  ],
  [
    'br',
    (bytes, isOnce) =>
      brotlied(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: isOnce ? 9 : 1,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      }),
  ],
  ['gzip', (bytes, isOnce) => gzipped(bytes, { level: isOnce ? 9 : 1 })],
]);

/** The coding that the header asks for, undefined for the plain bytes, and whether the header refuses plain bytes. */
export function chooseCoding(accept: string): { coding: string | undefined; isIdentityRefused: boolean } {
  const weights = weightsIn(accept);
  const others = weights.get('*') ?? 0;
  const identity = weights.get('identity');
  let coding: string | undefined;
  let most = 0;
  for (const name of codings.keys()) {
    const weight = weights.get(name) ?? others;
    if (weight > most) [coding, most] = [name, weight];
  }
  if (identity !== undefined && identity > most) coding = undefined;
  return { coding, isIdentityRefused: (identity ?? weights.get('*')) === 0 };
}

/** The weights of the codings in the header. A malformed element is ignored; the first weight of a coding counts. */
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

export function openCompression() {
  /** The compressed pages of the gateway, by the buffer of the page and by coding. A page is the same buffer in each answer. */
  const pages = new WeakMap<Buffer, Map<string, Promise<Buffer>>>();

  return <T>(request: FastifyRequest, reply: FastifyReply, payload: T): T | Promise<Buffer> => {
    const isText = typeof payload === 'string';
    if (!isText && !(payload instanceof Buffer)) return payload;
    const bytes = isText ? Buffer.byteLength(payload) : payload.length;
    if (bytes === 0 || String(reply.getHeader('content-type')).startsWith('image/')) return payload;
    const accept = request.headers['accept-encoding'];
    const isLarge = bytes >= leastBytes;
    // A small answer in plain bytes has no `Vary`: only a caller that refuses plain bytes would get another answer.
    if (isLarge) reply.header('vary', 'Accept-Encoding');
    if (accept === undefined) return payload;
    const { coding = '', isIdentityRefused } = chooseCoding(accept);
    const compress = codings.get(coding);
    if (compress === undefined || (!isLarge && !isIdentityRefused)) return payload;
    reply.header('content-encoding', coding).header('vary', 'Accept-Encoding').removeHeader('content-length');
    const plain = isText ? Buffer.from(payload) : payload;
    const { upstream, code } = request.exchange;
    // Callers without a token cause refusals, and each refusal is another buffer: it is compressed at the cheapest level.
    if (isText || upstream !== undefined || code !== undefined) return compress(plain, false);
    return pages
      .getOrInsertComputed(plain, () => new Map())
      .getOrInsertComputed(coding, () => compress(plain, true));
  };
}
