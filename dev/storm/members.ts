// The processes of a storm, as their starter uses them: it starts each process, sends orders, and ends the process with the
// storm.
import { fork, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Done } from './role.ts';

export interface Member extends AsyncDisposable {
  /** Sends an order to the process. Rejects if the process fails or ends, or the storm is to end. */
  tell(deed: string): Promise<unknown>;
}

export interface MemberOptions {
  folder: string;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** How long a process may take to end: on a machine with a load of 40, stopping the engines takes minutes. */
const endWithinMs = 5 * 60_000;

/** Starts a file in `roles`, in a session of its own, so that a Ctrl-C reaches only the starter. */
export function startMember(name: string, { folder, say, signal }: MemberOptions): Member {
  signal.throwIfAborted();
  mkdirSync(join(folder, 'logs'), { recursive: true });
  const log = openSync(join(folder, 'logs', `${name}.log`), 'a');
  const file = join(import.meta.dirname, 'roles', `${name}.ts`);
  const child = fork(file, [folder], { detached: true, stdio: ['ignore', log, log, 'ipc'] });
  closeSync(log);
  child.on('message', (message: { say?: string }) => {
    if (message.say !== undefined) say(message.say);
  });
  return {
    /** Waits without a time-out: each order ends on a condition of its own, however slow the machine is. */
    async tell(deed) {
      signal.throwIfAborted();
      if (!child.connected) throw new Error(`the process ${name} has ended`);
      const messages = on(child, 'message', { signal, close: ['exit'] });
      child.send({ tell: deed });
      for await (const [message] of messages) {
        const { done, failed, result }: Partial<Done> = message;
        if (done !== deed) continue;
        if (failed === undefined) return result;
        throw new Error(`the process ${name} failed to ${deed}: ${failed}`);
      }
      throw new Error(`the process ${name} ended before it could ${deed}`);
    },
    [Symbol.asyncDispose]: () => end(child),
  };
}

/** Closes the channel: the process then ends all that it has started, and itself. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  if (child.connected) child.disconnect();
  const overdue = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
  await ended;
  clearTimeout(overdue);
}
