// What the loader's core takes from Node.js: files by their paths, zlib, and the encodings of iconv-lite.
import { isAscii, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { crc32, createGunzip, createInflateRaw } from 'node:zlib';
import iconv from 'iconv-lite';
import { messageOf, Stop, systemCodeOf } from '../core/exit.ts';
import type { Encodings, OpenedFile, Platform } from '../core/platform.ts';

const chunkBytes = 64 * 1024;
/** How many bytes are read at a time: Node reads in another thread, which costs 0.1 ms for each read, whatever its size. */
const readBytes = 8 * chunkBytes;

async function* stream(path: string): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* path.toLowerCase().endsWith('.gz') ? unpacked(path) : chunksOf(path);
  } catch (error) {
    const code = systemCodeOf(error) ?? '';
    if (code.startsWith('Z_'))
      throw new Stop(`${path} is no whole gzip file (${messageOf(error)}): make it again.`);
    throw new Stop(`${path} cannot be read: ${messageOf(error)}`, undefined, { cause: error });
  }
}

/** All chunks share one buffer: a stream allocates up to 70 MB of chunks before the garbage is collected. */
async function* chunksOf(path: string): AsyncGenerator<Buffer, void, undefined> {
  await using file = await open(path);
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, readBytes);
    if (bytesRead === 0) return;
    for (let from = 0; from < bytesRead; from += chunkBytes) {
      yield buffer.subarray(from, Math.min(from + chunkBytes, bytesRead));
    }
  }
}

async function* unpacked(path: string): AsyncGenerator<Buffer, void, undefined> {
  const file = createReadStream(path, { highWaterMark: chunkBytes });
  const bytes = file.pipe(createGunzip({ chunkSize: chunkBytes }));
  file.on('error', (error) => bytes.destroy(error));
  try {
    yield* bytes;
  } finally {
    file.destroy();
  }
}

async function check(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw new Stop(systemCodeOf(error) === 'ENOENT' ? `There is no file ${path}.` : messageOf(error));
  });
  if (found.isDirectory())
    throw new Stop(`${path} is a directory: name the files in it, such as ${path}/*.csv.`);
  if (found.size === 0) throw new Stop(`${path} is empty.`);
}

/** The path of a file in messages: relative to the current folder if the file is in that folder. */
const shown = (path: string): string => {
  const below = relative('', path);
  return below.startsWith('..') ? path : below;
};

async function openFile(path: string): Promise<OpenedFile> {
  const file = await open(path);
  const { size } = await file.stat();
  return {
    size,
    async read(position, length) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

async function* inflate(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  const source = Readable.from(chunks);
  const bytes = source.pipe(createInflateRaw());
  source.on('error', (error) => bytes.destroy(error));
  try {
    yield* bytes;
  } finally {
    source.destroy();
    bytes.destroy();
  }
}

const viewOf = (bytes: Uint8Array, from = 0, to = bytes.length): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);

function decode(bytes: Uint8Array, name: string): string {
  if (name !== 'windows-1252') return iconv.decode(viewOf(bytes), name);
  // Windows-1252 is Latin-1 except for 32 characters, such as the euro sign. Latin-1 takes a tenth of the time.
  const text = viewOf(bytes).toString('latin1');
  return /[\u0080-\u009f]/.test(text) ? iconv.decode(viewOf(bytes), name) : text;
}

const encodings: Encodings = {
  has: (name) => iconv.encodingExists(name),
  decode,
  encode: (text, name) => iconv.encode(text, name),
  decoder(name) {
    if (/^utf-16[lb]e$/.test(name)) {
      // The decoders of iconv-lite may break a character of four bytes that is in two chunks.
      const decoder = new TextDecoder(name);
      return { write: (chunk) => decoder.decode(chunk, { stream: true }), end: () => decoder.decode() };
    }
    const decoder = iconv.getDecoder(name);
    return { write: (chunk) => decoder.write(viewOf(chunk)), end: () => decoder.end() ?? '' };
  },
};

export const platform: Platform = {
  advice: {
    kind: 'Say --kind, or name it in a map.',
    column: 'Rename it, or name it in a map (--map; load --sample prints one to start from).',
    columnTwice: 'Map one of them to null.',
    decimal: 'say --decimal , or --decimal .',
    dates: 'say --dates',
    encoding: 'say --encoding',
    dos: ', such as cp850 or cp437 of DOS',
    quotes: 'say --no-quotes',
    unfinished: 'go on with load --resume, or load its files anew',
    most: '--most',
  },
  check,
  shown,
  resolve: (file) => resolve(file),
  basename: (path) => basename(path),
  open: openFile,
  async version(path) {
    const found = await stat(path).catch(() => undefined);
    return found && `${found.size} ${found.mtimeMs}`;
  },
  stream,
  inflate,
  crc32,
  isUtf8,
  isAscii,
  utf8: (bytes, from, to) => viewOf(bytes, from, to).toString('utf8'),
  latin1: (bytes) => viewOf(bytes).toString('latin1'),
  encodings,
};

export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(path)) hash.update(chunk);
  return hash.digest('hex');
}
