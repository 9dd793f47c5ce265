// Reads the file of clients within a bound: a file that is too large is refused by its size, and never read whole.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { ClientsRefused } from './clients-file.ts';

/** Some 25,000 clients. */
export const fileBytesMax = 8 * 1024 * 1024;

export async function readClientsFile(path: string): Promise<Buffer> {
  try {
    // A pipe without a writer would hold the reader.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) throw new ClientsRefused('it is no regular file');
    if (stats.size > fileBytesMax) throw tooLarge(stats.size);
    // It may grow while it is read.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size + 1), 0, stats.size + 1, 0);
    if (bytesRead > stats.size) throw new ClientsRefused('it was written to while it was read');
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (error instanceof ClientsRefused) throw error;
    throw new ClientsRefused(`it cannot be read (${reasonOf(error)})`, { cause: error });
  }
}

const tooLarge = (bytes: number): ClientsRefused =>
  new ClientsRefused(`it has ${bytes} bytes, and at most ${fileBytesMax} are read`);

export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return reasons.get(code) ?? code;
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'there is no such file'],
  ['EACCES', 'this process may not read it'],
]);
