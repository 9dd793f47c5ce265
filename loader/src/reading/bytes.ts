// The bytes of a file or of standard input, unpacked where its name ends in .gz.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { messageOf, Stop, systemCodeOf } from '../exit.ts';

const chunkBytes = 64 * 1024;

export const standardInput = '-';

/** `onRaw` sees the bytes as the file has them. */
export async function* openBytes(
  path: string,
  onRaw?: (chunk: Buffer) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const file = createReadStream(path, { highWaterMark: chunkBytes });
  if (onRaw !== undefined) file.on('data', (chunk) => typeof chunk === 'string' || onRaw(chunk));
  const isPacked = path.toLowerCase().endsWith('.gz');
  const bytes = isPacked ? file.pipe(createGunzip({ chunkSize: chunkBytes })) : file;
  if (isPacked) file.on('error', (error) => bytes.destroy(error));
  try {
    yield* bytes;
  } catch (error) {
    const code = systemCodeOf(error) ?? '';
    if (code.startsWith('Z_'))
      throw new Stop(`${path} is no whole gzip file (${messageOf(error)}): make it again.`);
    throw new Stop(`${path} cannot be read: ${messageOf(error)}`, undefined, { cause: error });
  } finally {
    file.destroy();
  }
}

/** Stops for what is no file. */
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
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk);
  return hash.digest('hex');
}
