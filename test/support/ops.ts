// Runs operators' commands: as processes, as an operator does, or in this process, which saves the start of another
// one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inject } from 'vitest';
import { run } from '../../services/ops/src/run.ts';
import { readLines } from './lines.ts';

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunningOps extends AsyncDisposable {
  readonly ended: Promise<Ended>;
  /** Resolves once the command has written these words to stderr. */
  said(words: string): Promise<void>;
  /** Kills the process by SIGKILL. */
  kill(): Promise<void>;
}

export function startOps(args: readonly string[], environment: Readonly<Record<string, string>>): RunningOps {
  const child = spawn(process.execPath, [inject('programs').ops, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const closed = once(child, 'close');
  const { lines, said } = readLines(
    child.stderr,
    closed.then(() => `the command ended without saying it: ${lines.join('\n')}`),
  );
  const ended = closed.then(([code]) => ({ code, stdout, stderr: lines.join('\n') }));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return {
    ended,
    said: async (words) => void (await said((line) => line.includes(words))),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

/** Runs a command in this process; not one that fails while it connects: only the end of a process ends that. */
export async function runOps(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  let [stdout, stderr] = ['', ''];
  const code = await run(
    args,
    { ...process.env, ...environment },
    {
      stdout: { write: (text) => void (stdout += text) },
      stderr: { write: (text) => void (stderr += text) },
    },
  );
  return { code, stdout, stderr: stderr.replace(/\n$/, '') };
}
