// A service as a process of its own, for tests that end it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { readLines, type Lines } from './lines.ts';

/** Its lines are its log. */
export interface ServiceProcess extends Lines, AsyncDisposable {
  readonly pid: number;
  readonly input: Writable;
  /** Resolves once the process has ended. */
  readonly ended: Promise<unknown>;
  /** Kills the process by SIGKILL. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Starts the process; resolves once it serves. */
export async function startServiceProcess(
  program: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...environment, LOG_LEVEL: 'info', METRICS_PORT: '0' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const { lines, said } = readLines(
    child.stdout,
    exited.then(() => `${program} died before it said what was awaited`),
  );
  await said(isServing);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return {
    pid: child.pid ?? 0,
    lines,
    input: child.stdin,
    ended: exited,
    said,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    [Symbol.asyncDispose]: async () => void (await end('SIGKILL')),
  };
}

export const isServing = (line: string): boolean => line.includes('"msg":"serving"');

/** The address that the process logged when it began to serve: of its metrics, or of a gateway. */
export function addressIn({ lines }: Pick<ServiceProcess, 'lines'>, of: 'metrics' | 'url'): string {
  const line: Record<string, unknown> = JSON.parse(lines.find(isServing) ?? '{}');
  return String(line[of]);
}
