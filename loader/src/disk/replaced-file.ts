// A file that the user names and other programs read, such as an export. It is replaced once its whole content is written: a command
// that fails leaves the former file.
import { randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file, or creates it. Links in its path are followed, because they are the user's own. */
export async function replaceFile(path: string, texts: AsyncIterable<string>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await realpath(path).catch(() => path);
  // Another export may write to the same file.
  const part = `${file}.${randomUUID()}.part`;
  const former = await stat(file).catch(() => undefined);
  try {
    await write(part, texts, former?.mode);
    if (former !== undefined) {
      await chown(part, former.uid, former.gid).catch(() => undefined);
      await chmod(part, former.mode & 0o777);
    }
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

async function write(path: string, texts: AsyncIterable<string>, mode: number | undefined): Promise<void> {
  await using file = await open(path, 'w', mode);
  for await (const text of texts) await file.writeFile(text);
}
