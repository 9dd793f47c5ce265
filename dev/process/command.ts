// Runs a command to its end, such as a step that fetches or builds an engine.
import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { sendSignal } from './identity.ts';

export interface CommandOptions {
  environment?: Readonly<NodeJS.ProcessEnv>;
  folder?: string;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  onStart?: (pid: number) => void;
  onLine?: (line: string) => void;
}

/** `missing`: true if this machine has no such program, false if the program failed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly missing: boolean;

  constructor(message: string, { missing = false, cause }: { missing?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.missing = missing;
  }
}

const linesKept = 200;

/** Resolves with what the command printed (both streams, its last lines). */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { timeoutMs = 10 * 60_000, signal, onStart, onLine } = options;
  signal?.throwIfAborted();
  // The command has a process group of its own, so that all processes that it started can be ended with it.
  const child = spawn(command, args, {
    cwd: options.folder,
    env: options.environment ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  if (child.pid !== undefined) onStart?.(child.pid);
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      if (lines.push(line) > linesKept) lines.shift();
      onLine?.(line);
    });
  }
  const cut = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  const endGroup = (): void => {
    if (child.pid !== undefined) sendSignal(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
  };
  cut.addEventListener('abort', endGroup);
  try {
    const code = await exitCode(command, child);
    signal?.throwIfAborted();
    if (cut.aborted) throw new CommandError(`${command} took more than ${timeoutMs / 1_000} s`);
    if (code !== 0) throw new CommandError(`${basename(command)} failed (${code}): ${lastWords(lines)}`);
    return lines.join('\n');
  } finally {
    cut.removeEventListener('abort', endGroup);
  }
}

function exitCode(command: string, child: ReturnType<typeof spawn>): Promise<number | NodeJS.Signals | null> {
  return new Promise((resolve, reject) => {
    child.on('close', (code, signal) => resolve(code ?? signal));
    child.on('error', (cause) => {
      const missing = 'code' in cause && cause.code === 'ENOENT';
      reject(
        new CommandError(missing ? `there is no ${command} on PATH` : cause.message, { missing, cause }),
      );
    });
  });
}

/** The lines worth repeating: the last line of a tool is seldom the reason, a line with an error in it is. */
function lastWords(lines: readonly string[]): string {
  const told = lines.map((line) => line.trim()).filter((line) => line !== '');
  const errors = told.filter((line) => /\b(error|fatal|failed|cannot|denied|no space)\b|^E:/i.test(line));
  return (errors.length > 0 ? errors : told).slice(-3).join(' | ').slice(0, 600) || 'no output';
}
