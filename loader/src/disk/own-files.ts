// Opens the files that a load writes. Only the user of the load may read them, because rows are confidential. A symbolic link is
// never followed, because it may be part of a folder from another person.
import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, type FileHandle } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { Stop, systemCodeOf } from '../core/exit.ts';

const { O_CREAT, O_EXCL, O_RDWR, O_TRUNC } = constants;
/** The flag for not following links. Windows does not have it; there, only administrators create links. */
const noFollow = 'O_NOFOLLOW' in constants ? constants.O_NOFOLLOW : 0;
const ownerOnly = 0o600;

const flagsOf = {
  /** Creates the file, or empties an existing file. */
  empty: O_RDWR | O_CREAT | O_TRUNC,
  /** Creates the file; throws EEXIST if the file exists. */
  fresh: O_RDWR | O_CREAT | O_EXCL,
  /** Opens a file with its content; creates the file if it does not exist. */
  grown: O_RDWR | O_CREAT,
} as const;

export async function openOwn(path: string, how: keyof typeof flagsOf): Promise<FileHandle> {
  const file = await open(path, flagsOf[how] | noFollow, ownerOnly).catch((error: unknown) => {
    throw systemCodeOf(error) === 'ELOOP' ? linkAt(path) : error;
  });
  // The mode is set here, because an existing file keeps its mode when it is opened.
  if (how !== 'fresh' && (await file.stat()).isFile()) await file.chmod(ownerOnly);
  return file;
}

export async function makeOwnFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if ((await lstat(path)).isSymbolicLink()) throw linkAt(path);
}

const linkAt = (path: string): Stop =>
  new Stop(`${path} is a link, and a load writes through none: name the folder or file that it leads to.`);

/** Whether the path, with its links followed, is below the working folder. */
export async function isBelowHere(path: string): Promise<boolean> {
  const here = await realpath('.');
  const real = await realpath(path).catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (real === undefined) return isBelowHere(dirname(path));
  return real === here || real.startsWith(here.endsWith(sep) ? here : here + sep);
}
