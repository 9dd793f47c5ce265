// The child processes of a benchmark, which talks to them over IPC.
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findPort } from '../process/port.ts';
import { mainOf, nodeFlags } from '../stack/services.ts';
import { temporaryFolder } from './temporary.ts';

export interface Process extends AsyncDisposable {
  readonly pid: number;
}

export interface Child extends Process {
  /** The first message that the process has sent. */
  readonly greeting: unknown;
  ask(message: object): Promise<unknown>;
}

/** The running children, which are killed when the benchmark exits. */
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill();
});

function follow(child: ChildProcess): void {
  living.add(child);
  child.once('exit', () => living.delete(child));
}

/** Starts a file of this folder as a process, and waits for its first message. */
export async function startChild(
  file: string,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const child = forkProgram(join(import.meta.dirname, file), args, environment);
  const greeting = await nextMessage(child, file);
  return {
    pid: pidOf(child),
    greeting,
    async ask(message) {
      const answer = nextMessage(child, file);
      child.send(message);
      return answer;
    },
    [Symbol.asyncDispose]: () => end(child),
  };
}

/** Starts the webhooks service. Its log is discarded; writing it to a file would hardly change the figures. */
export function startService(environment: Readonly<Record<string, string>>): Process {
  const child = forkProgram(mainOf('webhooks'), [], environment);
  return { pid: pidOf(child), [Symbol.asyncDispose]: () => end(child) };
}

function forkProgram(
  path: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  const child = fork(path, args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, ...environment },
    // The same Node options as for a service of the stack, so that the figures are comparable.
    execArgv: [...nodeFlags],
  });
  follow(child);
  return child;
}

export interface Redis extends Process {
  readonly port: number;
}

/** Starts a Redis as durable as the streams: `appendfsync always` puts each acknowledged write on the disk. */
export async function startRedis(): Promise<Redis> {
  const place = await temporaryFolder();
  const port = await findPort();
  const child = spawn(
    'redis-server',
    ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', place.folder, '--save', '', '--appendonly', 'yes',
      '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'],
    { stdio: 'ignore' },
  ); // oxfmt-ignore
  follow(child);
  await once(child, 'spawn').catch((cause: unknown) => {
    throw new Error('redis-server cannot be started; install it (Debian: apt-get install redis-server)', {
      cause,
    });
  });
  return {
    pid: pidOf(child),
    port,
    async [Symbol.asyncDispose]() {
      await end(child);
      await place[Symbol.asyncDispose]();
    },
  };
}

/** Resolves with the next message of the process; rejects if the process ends before. */
async function nextMessage(child: ChildProcess, file: string): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, 'exit', { signal }).then(([code, killedBy]) => {
    throw new Error(`the process of ${file} ended (${killedBy ?? `exit code ${code}`})`);
  });
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended]);
    return message;
  } finally {
    ended.catch(() => undefined);
    over.abort();
  }
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
  return child.pid;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}
