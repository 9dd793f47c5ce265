// Makes processes stand still and go on again, as a machine does that swaps, a container that is paused, or a
// disk that hangs: their connections stay open, and nothing answers.
import { spawnSync } from 'node:child_process';
import { withDescendants } from '@integration-sync/dev/family';
import { sendSignal } from '../../dev/process/identity.ts';
import { eventually } from './eventually.ts';

/** Stops the processes and all that they started; disposing lets them go on. */
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
 * Returns when all of them do. A busy system lets the threads of a process work on for some milliseconds after it
 * has taken the signal, which is time enough for an answer. A process that has ended stands still too.
 */
export async function standStill(pids: readonly number[]): Promise<void> {
  for (const pid of pids) sendSignal(pid, 'SIGSTOP');
  await eventually(
    () => statesOfWork(pids),
    (states) => states.length === 0,
    5_000,
  );
}

/** Not those of another user, nor any of a Docker that runs in a machine of its own. */
export function mayFreeze(pids: readonly number[]): boolean {
  try {
    return pids.length > 0 && pids.every((pid) => process.kill(pid, 0));
  } catch {
    return false;
  }
}

/** The processes that they started, and so on. */
export const descendantsOf = (pids: readonly number[]): number[] =>
  withDescendants(pids).filter((pid) => !pids.includes(pid));

/** Of each thread, where ps shows threads, that has neither stopped nor ended. */
function statesOfWork(pids: readonly number[]): string[] {
  const threads = process.platform === 'linux' ? ['-L'] : [];
  const { stdout } = spawnSync('ps', [...threads, '-o', 'stat=', '-p', pids.join()], { encoding: 'utf8' });
  return stdout.split('\n').filter((state) => /^[^TZX]/i.test(state));
}
