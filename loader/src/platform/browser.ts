// What the loader's core takes from a browser: files that a person chose, by their names, and what browsers unpack and decode.
import { messageOf, Stop } from '../core/exit.ts';
import { joined } from '../core/bytes.ts';
import type { OpenedFile, Platform } from '../core/platform.ts';
import { encodings } from './browser-encodings.ts';

const chunkBytes = 512 * 1024;

let files: ReadonlyMap<string, Blob> = new Map();

/** The files that the core may read, by their names. */
export function useFiles(chosen: ReadonlyMap<string, Blob>): void {
  files = chosen;
}

function blobOf(path: string): Blob {
  const blob = files.get(path);
  if (blob === undefined) throw new Stop(`There is no file ${path}.`);
  return blob;
}

/** A file that was changed or removed since it was chosen cannot be read any more. */
async function bytesOf(path: string, blob: Blob): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch (error) {
    throw new Stop(
      `${path} cannot be read: it has changed, or is gone. Choose it once more. (${messageOf(error)})`,
      undefined,
      { cause: error },
    );
  }
}

async function* chunksOf(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const blob = blobOf(path);
  for (let at = 0; at < blob.size; at += chunkBytes) yield bytesOf(path, blob.slice(at, at + chunkBytes));
}

async function* stream(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  if (!path.toLowerCase().endsWith('.gz')) {
    yield* chunksOf(path);
    return;
  }
  try {
    yield* unpacked(chunksOf(path), 'gzip');
  } catch (error) {
    if (error instanceof Stop) throw error;
    throw new Stop(`${path} is no whole gzip file (${messageOf(error)}): make it again.`);
  }
}

async function* unpacked(
  chunks: AsyncIterable<Uint8Array>,
  how: 'gzip' | 'deflate-raw',
): AsyncGenerator<Uint8Array, void, undefined> {
  const iterator = chunks[Symbol.asyncIterator]();
  // The reason of a failed stream is kept here, because the reader of the stream gets only a TypeError.
  let reason: unknown;
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(new Uint8Array(value));
      } catch (error) {
        reason = error;
        controller.error(error);
      }
    },
    async cancel() {
      await iterator.return?.();
    },
  });
  const reader = source.pipeThrough(new DecompressionStream(how)).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw reason ?? error;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function openFile(path: string): Promise<OpenedFile> {
  const blob = blobOf(path);
  return {
    size: blob.size,
    read: (position, length) => bytesOf(path, blob.slice(position, position + length)),
    async [Symbol.asyncDispose]() {
      // Nothing to do: a blob need not be closed.
    },
  };
}

/**
 * The CRC remainders of each byte followed by 0, 1, 2 or 3 further bytes. With them four bytes are processed together, in a third
 * of the time.
 */
const crcTable = new Uint32Array(4 * 256);
for (let byte = 0; byte < 256; byte += 1) {
  let value = byte;
  for (let index = byte; index < crcTable.length; index += 256) {
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    crcTable[index] = value;
  }
}

const remainder = (byte: number, following = 0): number => crcTable[(byte & 0xff) + 256 * following] ?? 0;

function crc32(bytes: Uint8Array, before: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let crc = ~before;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    crc ^= view.getUint32(at, true);
    crc = remainder(crc, 3) ^ remainder(crc >>> 8, 2) ^ remainder(crc >>> 16, 1) ^ remainder(crc >>> 24);
  }
  for (; at < bytes.length; at += 1) crc = remainder(crc ^ (bytes[at] ?? 0)) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

/** The bytes in memory that is not shared, as decoders of browsers require. The core never has shared memory. */
const ownMemory = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);

function isUtf8(bytes: Uint8Array): boolean {
  if (isAscii(bytes)) return true;
  try {
    strict.decode(ownMemory(bytes));
    return true;
  } catch {
    return false;
  }
}

function isAscii(bytes: Uint8Array): boolean {
  let at = 0;
  // Bytes are checked one by one up to an aligned address, and then four together.
  for (; at < bytes.length && (bytes.byteOffset + at) % 4 !== 0; at += 1)
    if ((bytes[at] ?? 0) > 0x7f) return false;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + at, (bytes.length - at) >> 2);
  for (const word of words) if ((word & 0x80808080) !== 0) return false;
  for (at += 4 * words.length; at < bytes.length; at += 1) if ((bytes[at] ?? 0) > 0x7f) return false;
  return true;
}

export const platform: Platform = {
  advice: {
    kind: 'Choose below what this file contains.',
    column: 'Choose the column below.',
    columnTwice: 'Choose below which one is not used.',
    decimal: 'choose the decimal sign below',
    dates: 'fill in “Dates” below',
    encoding: 'fill in “Encoding” below',
    dos: '',
    quotes: 'open a map with "quotes": false',
    unfinished: 'go on with it first',
    most: 'A limit of',
  },
  async check(path) {
    if (blobOf(path).size === 0) throw new Stop(`${path} is empty.`);
  },
  shown: (path) => path,
  resolve: (file) => file,
  basename: (path) => path,
  open: openFile,
  version: async () => '',
  stream,
  inflate: (chunks) => unpacked(chunks, 'deflate-raw'),
  crc32,
  isUtf8,
  isAscii,
  utf8: (bytes, from, to) => lenient.decode(ownMemory(bytes.subarray(from, to))),
  latin1: (bytes) => encodings.decode(bytes, 'iso-8859-1'),
  encodings,
};

/**
 * The SHA-256 of the SHA-256 of each MiB, because browsers can digest only bytes in memory. Undefined if the page was not loaded
 * by https.
 */
export async function hashOf(path: string, blob: Blob): Promise<string | undefined> {
  const { subtle }: { subtle?: SubtleCrypto } = crypto;
  if (subtle === undefined) return undefined;
  const digests: Uint8Array[] = [];
  const pieceBytes = 1024 * 1024;
  for (let at = 0; at < blob.size; at += pieceBytes) {
    const piece = await bytesOf(path, blob.slice(at, at + pieceBytes));
    digests.push(new Uint8Array(await subtle.digest('SHA-256', piece)));
  }
  const all = new Uint8Array(await subtle.digest('SHA-256', ownMemory(joined(digests))));
  return Array.from(all, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
