// Freezes processes by SIGSTOP and resumes them by SIGCONT, as if the machine swaps, a container is paused or a disk
// hangs: connections stay open, and nothing answers.
import { spawnSync } from 'node:child_process';
import { withDescendants } from '@integration-sync/dev/family';
import { sendSignal } from '../../dev/process/identity.ts';
import { eventually } from './eventually.ts';

/** Freezes the processes and their descendants; disposing resumes them. */
export async function freeze(pids: readonly number[]): Promise<Disposable> {
  const family = withDescendants(pids);
  await standStill(family);
  return {
    [Symbol.dispose]() {
      for (const pid of family.splice(0)) sendSignal(pid, 'SIGCONT');
    },
  };
}

/**
 * Sends SIGSTOP, and resolves when every thread has stopped. On a busy machine, threads run for some milliseconds after
 * the signal, long enough for an answer. A process that has ended counts as stopped.
 */
export async function standStill(pids: readonly number[]): Promise<void> {
  for (const pid of pids) sendSignal(pid, 'SIGSTOP');
  await eventually(
    () => statesOfWork(pids),
    (states) => states.length === 0,
    5_000,
  );
}

/** Whether signals reach the processes: not those of another user, nor those of a Docker in a virtual machine. */
export function mayFreeze(pids: readonly number[]): boolean {
  try {
    return pids.length > 0 && pids.every((pid) => process.kill(pid, 0));
  } catch {
    return false;
  }
}

/** The descendants of the processes, at any depth. */
export const descendantsOf = (pids: readonly number[]): number[] =>
  withDescendants(pids).filter((pid) => !pids.includes(pid));

/** The states of the threads (of the processes, where ps shows no threads) that have neither stopped nor ended. */
function statesOfWork(pids: readonly number[]): string[] {
  const threads = process.platform === 'linux' ? ['-L'] : [];
  const { stdout } = spawnSync('ps', [...threads, '-o', 'stat=', '-p', pids.join()], { encoding: 'utf8' });
  return stdout.split('\n').filter((state) => /^[^TZX]/i.test(state));
}
