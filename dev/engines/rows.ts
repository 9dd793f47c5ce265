// The common part of the sources that run a program on this machine.
import { setTimeout as wait } from 'node:timers/promises';
import { ChildDied, startChild, type Child, type ChildSpec } from '../process/child.ts';
import { CommandError, runCommand } from '../process/command.ts';
import { stopInTurn } from '../process/in-turn.ts';
import { openLogFile } from '../process/logfile.ts';
import { findPort } from '../process/port.ts';
import type { ContainerSpec } from './container.ts';
import { NotServed, type Addresses, type RunningEngine } from './engine.ts';
import type { RowContext } from './row.ts';
import { isAtLeast, parseVersion, type Version } from './versions.ts';

/** Imports container.ts only when Docker is tried, because testcontainers takes half a second to load. */
export async function startFromImage(context: RowContext, spec: ContainerSpec): Promise<RunningEngine> {
  const { startContainer } = await import('./container.ts');
  return startContainer(context, spec);
}

/** An engine that dies comes back within two seconds. */
const backoff = { firstMs: 100, maxMs: 1_500, settledAfterMs: 10_000 };

export type ProgramSpec = Omit<ChildSpec, 'backoff' | 'onLine' | 'onStart' | 'onDeath'>;

export async function startProgram(context: RowContext, spec: ProgramSpec): Promise<Child> {
  const { cache, environment, ledger, logFolder, onChange } = context;
  const log = openLogFile(`${logFolder}/${spec.name}.log`);
  return startChild(
    {
      environment,
      stopWithinMs: 3_000,
      ...spec,
      backoff,
      onLine: (line) => log.write(line),
      onStopped: () => log[Symbol.dispose](),
      onStart: (pid) => {
        ledger.enter(spec.name, pid, spec.stopSignal);
        onChange();
      },
      onDeath: ({ how, againInMs }) => {
        onChange();
        if (againInMs !== undefined) cache.progress.say(`${spec.name} died (${how}); starting it again`);
      },
    },
    cache.signal,
  );
}

/** Finds a free port and starts on it; if another process takes the port first, the start finds another port. */
export async function startOnPort<T>(
  wished: number | undefined,
  start: (port: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await findPort(attempt === 1 ? wished : undefined));
    } catch (error) {
      // PostgreSQL also says "in use" while the last process of a killed PostgreSQL still holds its memory.
      const inUse = error instanceof ChildDied && error.lastLines.some((line) => /\bin use\b/i.test(line));
      if (!inUse || attempt === 4) throw error;
      await wait(250 * attempt);
    }
  }
}

/** How long a stop delays the stop of the next program: a program that does not end must leave time to the others. */
const headStartMs = 1_000;

/** Makes one engine of several programs, which start in this order and stop in the opposite order. */
export function engineOf(
  addresses: Addresses,
  description: string,
  programs: readonly Child[],
): RunningEngine {
  return {
    ...addresses,
    description,
    pids: () => programs.map((program) => program.pid()).filter((pid) => pid !== undefined),
    async kill() {
      await Promise.all(programs.map((program) => program.kill()));
    },
    hold() {
      for (const program of programs) program.hold();
    },
    async resume() {
      for (const program of programs) await program.resume();
    },
    async [Symbol.asyncDispose]() {
      await stopInTurn(
        programs.toReversed().map((program) => () => program.stop()),
        headStartMs,
      );
    },
  };
}

/** The version of a program on PATH; throws `NotServed` if it is missing or too old. */
export async function findOnPath(
  { environment, cache }: RowContext,
  program: string,
  minimum: Version,
): Promise<string> {
  const least = minimum.join('.').replace(/\.0$/, '');
  const help = `install ${program} ${least} or newer`;
  const options = { environment, signal: cache.signal, timeoutMs: 10_000 };
  const printed = await runCommand(program, ['--version'], options).catch((error: unknown) => {
    const missing = error instanceof CommandError && error.missing;
    throw new NotServed(missing ? error.message : `${program} --version fails`, help, error);
  });
  const version = parseVersion(printed);
  if (version === undefined || !isAtLeast(version, minimum)) {
    throw new NotServed(`${program} on PATH is ${version?.join('.') ?? 'of no known version'}`, help);
  }
  return version.join('.');
}
