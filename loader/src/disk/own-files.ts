// Opens the files that a load writes: for its user alone, as rows are confidential, and never through a link, which may have
// come along with a folder of someone else.
import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, type FileHandle } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { Stop, systemCodeOf } from '../core/exit.ts';

const { O_CREAT, O_EXCL, O_RDWR, O_TRUNC } = constants;
/** Windows lacks it; there, only administrators make links. */
const noFollow = 'O_NOFOLLOW' in constants ? constants.O_NOFOLLOW : 0;
const ownerOnly = 0o600;

const flagsOf = {
  /** Made, or made empty. */
  empty: O_RDWR | O_CREAT | O_TRUNC,
  /** Made; throws EEXIST if the file is there. */
  fresh: O_RDWR | O_CREAT | O_EXCL,
  /** Throws ENOENT if the file is not there. */
  grown: O_RDWR,
} as const;

export async function openOwn(path: string, how: keyof typeof flagsOf): Promise<FileHandle> {
  const file = await open(path, flagsOf[how] | noFollow, ownerOnly).catch((error: unknown) => {
    throw systemCodeOf(error) === 'ELOOP' ? linkAt(path) : error;
  });
  // A file that was there before keeps its mode when it is opened.
  if (how !== 'fresh' && (await file.stat()).isFile()) await file.chmod(ownerOnly);
  return file;
}

export async function makeOwnFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if ((await lstat(path)).isSymbolicLink()) throw linkAt(path);
}

const linkAt = (path: string): Stop =>
  new Stop(`${path} is a link, and a load writes through none: name the folder or file that it leads to.`);

/** Whether the path is below the working folder, links in it followed. */
export async function isBelowHere(path: string): Promise<boolean> {
  const here = await realpath('.');
  const real = await realpath(path).catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (real === undefined) return isBelowHere(dirname(path));
  return real === here || real.startsWith(here.endsWith(sep) ? here : here + sep);
}
