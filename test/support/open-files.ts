import { readdir, readlink } from 'node:fs/promises';

/** The real paths of the files that this process has open. */
export async function readOpenFiles(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  return Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
}
