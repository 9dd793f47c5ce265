// Fetches or builds a program once for all processes. One maker works at a time, under a temporary name, and renames the complete
// program. So a program under its own name is complete, even if a maker was interrupted.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError, runCommand } from '../process/command.ts';
import { endLeftovers, openLedger, type Ledger } from '../process/ledger.ts';
import { waitForLock } from '../process/lock.ts';
import type { Cache } from './cache.ts';
import { labels } from './choice.ts';
import { NotServed, type EngineName } from './engine.ts';
import type { Environment } from './environment.ts';

export interface MakeContext {
  /** The engine that the program is for. */
  name: EngineName;
  environment: Environment;
  cache: Cache;
}

export interface Recipe {
  /** The name of the program with its version: another version is another program. */
  name: string;
  make: (maker: Maker) => Promise<void>;
}

export interface Maker {
  /** The folder in which the program is made. */
  readonly folder: string;
  /** Runs a command with its progress on the screen. Resolves with what it printed. */
  step: Step;
}

export type Step = (
  what: string,
  command: string,
  args: readonly string[],
  options: StepOptions,
) => Promise<string>;

export interface StepOptions {
  /** What a person should do when the step fails. */
  help: string;
  environment?: Environment;
  timeoutMs?: number;
}

/** Resolves with the folder of the complete program, which is made now if it is missing. */
export async function makeOnce(context: MakeContext, { name, make }: Recipe): Promise<string> {
  const { folder, progress, signal } = context.cache;
  const whole = join(folder, name);
  if (existsSync(whole)) return whole;
  using _lock = await progress.during(`waiting for ${name}`, () =>
    waitForLock(`${whole}.lock`, {
      signal,
      onWait: (owner) => progress.say(`${name} is being made by process ${owner ?? '?'}; waiting for it`),
    }),
  );
  // Another maker may have finished the program while this process waited.
  if (existsSync(whole)) return whole;
  await clearAway(folder, name);
  const draft = `${whole}.draft-${process.pid}`;
  const ledger = openLedger(ledgerOf(folder, name));
  await mkdir(draft, { recursive: true });
  try {
    await make({ folder: draft, step: (...step) => runStep(context, ledger, ...step) });
    await rename(draft, whole);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    ledger.close();
  }
  return whole;
}

const ledgerOf = (folder: string, name: string): string => join(folder, `${name}.making.json`);

/** A killed maker has left an unfinished folder, and perhaps a command that works there. This process holds the lock now. */
async function clearAway(folder: string, name: string): Promise<void> {
  await endLeftovers(ledgerOf(folder, name));
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(`${name}.draft-`)) await rm(join(folder, entry), { recursive: true, force: true });
  }
}

async function runStep(
  { name, cache, environment }: MakeContext,
  ledger: Ledger,
  what: string,
  command: string,
  args: readonly string[],
  { help, ...options }: StepOptions,
): Promise<string> {
  const title = `${labels[name]}: ${what}`;
  const onStart = (pid: number): void => ledger.enter(what, pid, 'SIGKILL');
  cache.progress.say(title);
  try {
    return await cache.progress.during(title, (onLine) =>
      runCommand(command, args, { environment, ...options, signal: cache.signal, onStart, onLine }),
    );
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new NotServed(`${what} failed: ${error.message}`, help, error);
  }
}
