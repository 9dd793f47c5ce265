// A service as a process of its own, for tests that end it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';

export interface ServiceProcess extends AsyncDisposable {
  readonly pid: number;
  /** The lines of its log. */
  readonly lines: readonly string[];
  readonly input: Writable;
  /** Resolves once the process has ended. */
  readonly ended: Promise<unknown>;
  /** Resolves with a line for which `is` holds, among those after the first `from`; rejects once the process has ended. */
  said(is: (line: string) => boolean, from?: number): Promise<string>;
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
  const lines: string[] = [];
  const reading = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const died = exited.then(() =>
    Promise.reject(new Error(`${program} died before it said what was awaited`)),
  );
  died.catch(() => undefined);
  const said: ServiceProcess['said'] = async (is, from = 0) => {
    for (;;) {
      const found = lines.slice(from).find(is);
      if (found !== undefined) return found;
      await Promise.race([once(reading, 'line'), died]);
    }
  };
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
