// Starts a service that stops at one stage of a push, and kills it there, or lets it go on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Stage } from '@integration-sync/sync';
import { inject } from 'vitest';

export interface StoppingService extends AsyncDisposable {
  /** Resolves once a push has come to the stage. */
  reached(): Promise<void>;
  /** Names the stage at which a further push stops; resolves once the service knows it. */
  stopAt(next: string): Promise<void>;
  readonly pid: number;
  /** Lets the service go on from the stage, at which it stops only once. */
  goOn(): void;
  /** Ends the service in good order; resolves once it has answered all its requests and has ended. */
  finish(): Promise<void>;
  /** Kills the service by SIGKILL. */
  kill(): Promise<void>;
}

export async function startStoppingService(
  service: 'catalog' | 'batches',
  stage: Stage | 'none',
  environment: Readonly<Record<string, string>>,
  program = inject('programs').stoppingService,
): Promise<StoppingService> {
  const child = spawn(process.execPath, [program, service, stage], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const said = { serving: Promise.withResolvers<void>(), reached: Promise.withResolvers<void>() };
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'serving' || line === 'reached') said[line].resolve();
  });
  const died = exited.then(() => Promise.reject(new Error(`${service} died before it came to ${stage}`)));
  died.catch(() => undefined);
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  const hear = (line: keyof typeof said): Promise<void> => Promise.race([said[line].promise, died]);
  await hear('serving');
  return {
    pid: child.pid ?? 0,
    goOn: () => void child.stdin.write('go on\n'),
    async finish() {
      child.stdin.end();
      await exited;
    },
    reached: () => hear('reached'),
    async stopAt(next) {
      said.serving = Promise.withResolvers();
      said.reached = Promise.withResolvers();
      child.stdin.write(`${next}\n`);
      await hear('serving');
    },
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
