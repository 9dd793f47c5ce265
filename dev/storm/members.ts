// The processes of a storm, seen from their starter, which starts each, sends it its orders, and ends it with
// the storm.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Done } from './role.ts';

export interface Member extends AsyncDisposable {
  /** Rejects where the member fails or ends. */
  tell(deed: string): Promise<unknown>;
}

const endWithinMs = 40_000;

/** Starts a file in `roles`, in a session of its own, so that a Ctrl-C reaches only the starter. */
export function startMember(name: string, folder: string, say: (line: string) => void): Member {
  mkdirSync(join(folder, 'logs'), { recursive: true });
  const log = openSync(join(folder, 'logs', `${name}.log`), 'a');
  const file = join(import.meta.dirname, 'roles', `${name}.ts`);
  const child = fork(file, [folder], { detached: true, stdio: ['ignore', log, log, 'ipc'] });
  closeSync(log);
  child.on('message', (message: { say?: string }) => {
    if (message.say !== undefined) say(message.say);
  });
  return { tell: (deed) => tell(child, name, deed), [Symbol.asyncDispose]: () => end(child) };
}

/** Waits without a clock of its own: each deed ends by what it waits for, however slow the machine is. */
async function tell(child: ChildProcess, name: string, deed: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const listen = (message: Partial<Done>): void => {
    if (message.done !== deed) return;
    if (message.failed === undefined) resolve(message.result);
    else reject(new Error(`${name} failed to ${deed}: ${message.failed}`));
  };
  const onExit = (): void => reject(new Error(`${name} ended before it could ${deed}`));
  child.on('message', listen);
  child.once('exit', onExit);
  try {
    if (!child.connected) throw new Error(`${name} has ended`);
    child.send({ tell: deed });
    return await promise;
  } finally {
    child.off('message', listen);
    child.off('exit', onExit);
  }
}

/** Closes the channel: the member then ends what it has started, and itself. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  if (child.connected) child.disconnect();
  const overdue = setTimeout(() => child.kill('SIGKILL'), endWithinMs);
  await ended;
  clearTimeout(overdue);
}
