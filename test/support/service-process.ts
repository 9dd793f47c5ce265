// A service as a process of its own, for tests that end it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface ServiceProcess extends AsyncDisposable {
  readonly pid: number;
  /** The lines of its log. */
  readonly lines: readonly string[];
  /** Kills the process by SIGKILL. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Starts the process; resolves once it serves. */
export async function startServiceProcess(
  program: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, ...environment, LOG_LEVEL: 'info', METRICS_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const serving = Promise.withResolvers<void>();
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    if (isServing(line)) serving.resolve();
  });
  const died = exited.then(() => Promise.reject(new Error(`${program} died before it served`)));
  died.catch(() => undefined);
  await Promise.race([serving.promise, died]);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return {
    pid: child.pid ?? 0,
    lines,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    [Symbol.asyncDispose]: async () => void (await end('SIGKILL')),
  };
}

const isServing = (line: string): boolean => line.includes('"msg":"serving"');

/** The address that the process logged when it began to serve: of its metrics, or of a gateway. */
export function addressIn({ lines }: Pick<ServiceProcess, 'lines'>, of: 'metrics' | 'url'): string {
  const line: Record<string, unknown> = JSON.parse(lines.find(isServing) ?? '{}');
  return String(line[of]);
}
