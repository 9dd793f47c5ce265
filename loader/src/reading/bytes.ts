// The bytes of a file or of standard input, unpacked where its name ends in .gz.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { messageOf, Stop, systemCodeOf } from '../exit.ts';

const chunkBytes = 64 * 1024;
/** Node reads in another thread, which costs 0.1 ms for each read, whatever its size. */
const readBytes = 8 * chunkBytes;

export const standardInput = '-';

/** A chunk is valid only until the next one is asked for: they share memory. */
export async function* openBytes(path: string): AsyncGenerator<Buffer, void, undefined> {
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

/** Throws a Stop if `path` is missing, a directory, or empty. */
export async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw new Stop(systemCodeOf(error) === 'ENOENT' ? `There is no file ${path}.` : messageOf(error));
  });
  if (found.isDirectory())
    throw new Stop(`${path} is a directory: name the files in it, such as ${path}/*.csv.`);
  if (found.size === 0) throw new Stop(`${path} is empty.`);
}

export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(path)) hash.update(chunk);
  return hash.digest('hex');
}
