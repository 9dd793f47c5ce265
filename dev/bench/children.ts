// The processes of the benchmark: started, spoken to over their channel, and ended with it.
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPort } from '../process/port.ts';
import { mainOf, nodeFlags } from '../stack/services.ts';

export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** What it said first. */
  readonly greeting: unknown;
  ask(message: object): Promise<unknown>;
}

interface ChildOptions {
  environment?: Readonly<Record<string, string>>;
  /** For Node itself. */
  flags?: readonly string[];
}

/** Where the benchmark is ended, they end with it. */
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill();
});

function follow(child: ChildProcess): void {
  living.add(child);
  child.once('exit', () => living.delete(child));
}

/** A file below this folder. */
export async function startChild(
  file: string,
  args: readonly string[] = [],
  { environment = {}, flags = [] }: ChildOptions = {},
): Promise<Child> {
  const child = fork(join(import.meta.dirname, file), args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, ...environment },
    // As a service has them, whatever it is compared with.
    execArgv: [...process.execArgv, ...nodeFlags, ...flags],
  });
  follow(child);
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

/** The webhooks service itself, with its log going nowhere, as a file would cost no more. */
export async function startService(environment: Record<string, string>): Promise<Child> {
  const child = spawn(process.execPath, [...nodeFlags, mainOf('webhooks')], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  follow(child);
  return {
    pid: pidOf(child),
    greeting: undefined,
    ask: () => Promise.reject(new Error('the service is spoken to over the bus')),
    [Symbol.asyncDispose]: () => end(child),
  };
}

export interface Redis extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

/** As durable as the streams are: what is acknowledged is on the disk. */
export async function startRedis(): Promise<Redis> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-sync-redis-'));
  const port = await findPort();
  const child = spawn(
    'redis-server',
    ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes',
      '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'],
    { stdio: 'ignore' },
  ); // prettier-ignore
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
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Rejects where the process ends instead of saying something. */
async function nextMessage(child: ChildProcess, file: string): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, 'exit', { signal }).then(([code, killedBy]) => {
    throw new Error(`${file} ended (${killedBy ?? `exit code ${code}`})`);
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
  if (child.pid === undefined) throw new Error('a process could not be started');
  return child.pid;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}
