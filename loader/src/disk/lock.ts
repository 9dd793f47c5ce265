// One command works in a folder of state at a time. A lock is a file `lock-N` that names its process. N only grows: the lock of
// an ended process is not removed, but the next process creates `lock-N+1`, which only one process can create.
//
//   lock-4   the process has released this lock, or does not run any more
//   lock-5   the process works: another command that finds this lock exits with code 3
import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { exitCodes, Stop, systemCodeOf } from '../core/exit.ts';
import { shortened } from '../core/reading/source.ts';
import { makeOwnFolder, openOwn } from './own-files.ts';

interface Holder {
  pid: number;
  host: string;
  /** The namespace in which Linux gave the process its id: containers may share a host name, and have ids of their own. */
  namespace?: string | undefined;
  /** What the process does, for the messages of other commands. */
  work: string;
  startedAt: string;
  /**
   * When Linux started the process, in the unit of `/proc`. It identifies the process, because another process may get the same
   * id later.
   */
  begun: string | undefined;
}

const freed = 'free';
/** How long a lock may be empty: a process writes its lock immediately after it has created the file. */
const writingMsMax = 10_000;
const aliveEveryMs = 30_000;
/** How old the lock of a process on another machine or in another container may be: only the time of the file shows that such a process lives. */
const silentMsMax = 300_000;

/** Throws a Stop if another process works in the folder. */
export async function lockFolder(folder: string, work: string): Promise<AsyncDisposable> {
  await makeOwnFolder(folder);
  for (;;) {
    const last = (await numbersIn(folder)).at(-1) ?? 0;
    if (last > 0) await refuseBeside(folder, last);
    const own = last + 1;
    const lock = await create(folder, own, work);
    if (lock === undefined) continue;
    const numbers = await numbersIn(folder);
    // If a lock with a higher number exists, another process was faster, and this process must check again.
    const isLast = numbers.at(-1) === own;
    for (const number of numbers) if (number < own) await rm(pathOf(folder, number), { force: true });
    if (isLast) return lock;
    await lock[Symbol.asyncDispose]();
  }
}

const pathOf = (folder: string, number: number): string => join(folder, `lock-${number}`);

async function numbersIn(folder: string): Promise<number[]> {
  const numbers = (await readdir(folder)).flatMap((name) => /^lock-(\d{1,15})$/.exec(name)?.[1] ?? []);
  return numbers.map(Number).toSorted((one, other) => one - other);
}

/** Creates a lock; undefined if another process has created the file. */
async function create(folder: string, number: number, work: string): Promise<AsyncDisposable | undefined> {
  const file = await openOwn(pathOf(folder, number), 'fresh').catch((error: unknown) => {
    if (systemCodeOf(error) === 'EEXIST') return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  const startedAt = new Date().toISOString();
  const { pid } = process;
  const begun = (await processOf(pid))?.begun;
  const holder: Holder = { pid, host: hostname(), namespace: await namespaceOf(), work, startedAt, begun };
  try {
    await file.writeFile(JSON.stringify(holder));
  } catch (error) {
    // The disk is full. An empty lock would refuse the next command.
    await file.close();
    await rm(pathOf(folder, number), { force: true });
    throw error;
  }
  const alive = setInterval(() => {
    const now = new Date();
    // If setting the time of the file fails, the next interval sets it.
    void file.utimes(now, now).catch(() => undefined);
  }, aliveEveryMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(alive);
      // In this order no step needs room on the disk.
      await file.write(freed, 0);
      await file.truncate(freed.length);
      await file.close();
    },
  };
}

async function refuseBeside(folder: string, number: number): Promise<void> {
  const path = pathOf(folder, number);
  const found = await Promise.all([readFile(path, 'utf8'), stat(path)]).catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  // The lock file does not exist any more: a process with a higher number has removed it.
  if (found === undefined || found[0] === freed) return;
  const [text, { mtimeMs }] = found;
  const holder = holderOf(text);
  const silentMs = Date.now() - mtimeMs;
  if (holder === undefined && silentMs > writingMsMax) return;
  const isElsewhere = holder !== undefined && !(await isBeside(holder));
  if (isElsewhere && silentMs > silentMsMax) return;
  if (holder !== undefined && !isElsewhere && !(await isAtWork(holder))) return;
  const where = shortened(folder);
  const whose =
    holder === undefined
      ? `Another process has just begun in ${where}`
      : `Process ${holder.pid}${isElsewhere ? ` on ${holder.host}` : ''} works in ${where} since ${holder.startedAt}: ${holder.work}`;
  const hint = isElsewhere ? ` If it is gone, delete ${shortened(path)}, or wait for five minutes.` : '';
  throw new Stop(
    `${whose}. Nothing was sent: wait for its end, or say --state FOLDER for a folder of its own.${hint}`,
    exitCodes.stopped,
  );
}

function holderOf(text: string): Holder | undefined {
  try {
    const holder: Holder = JSON.parse(text);
    return Number.isInteger(holder.pid) && holder.pid > 0 ? holder : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the id of a process means the same process to this process. */
const isBeside = async ({ host, namespace }: Holder): Promise<boolean> =>
  host === hostname() && (namespace === undefined || namespace === (await namespaceOf()));

const namespaceOf = (): Promise<string | undefined> => readlink('/proc/self/ns/pid').catch(() => undefined);

async function isAtWork({ pid, begun }: Holder): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Only ESRCH means that the process does not exist: for a process of another user the error is EPERM.
    if (systemCodeOf(error) === 'ESRCH') return false;
  }
  const now = await processOf(pid);
  if (now === undefined) return true;
  return !now.isEnded && (begun === undefined || now.begun === begun);
}

/** The facts of a process from `/proc`; undefined without Linux. */
async function processOf(pid: number): Promise<{ begun: string | undefined; isEnded: boolean } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // The fields are read after the closing bracket, because the name of the program, in brackets, may have blanks.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { begun: fields[19], isEnded: /^[ZX]/.test(text.slice(text.lastIndexOf(')') + 2)) };
}
