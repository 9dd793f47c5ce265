// Starts a service whose pushes stop at the stages that a caller names, and kills it when all have come
// there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Halting extends AsyncDisposable {
  /** Resolves once the push has come to the stage. It goes no further. */
  halt(stage: string, push: () => Promise<unknown>): Promise<void>;
}

const program = join(import.meta.dirname, 'processes/halting.ts');
/** Halted pushes take up their places. */
const pushesAtOnceMax = '16';

export async function startHalting(
  service: 'catalog' | 'batches',
  environment: Readonly<Record<string, string>>,
): Promise<Halting> {
  const child = spawn(process.execPath, [program, service], {
    env: { ...process.env, ...environment, PUSHES_AT_ONCE_MAX: pushesAtOnceMax },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const died = exited.then(() => Promise.reject(new Error(`${service} died before its pushes were halted`)));
  died.catch(() => undefined);
  const awaited = new Map<string, () => void>();
  const said = (line: string): Promise<void> =>
    Promise.race([new Promise<void>((resolve) => awaited.set(line, resolve)), died]);
  createInterface({ input: child.stdout }).on('line', (line) => awaited.get(line)?.());
  await said('serving');
  return {
    async halt(stage, push) {
      const told = said(stage);
      child.stdin.write(`${stage}\n`);
      await told;
      const reached = said('reached');
      // Most have no answer when the process is killed.
      push().catch(() => undefined);
      await reached;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
