// Makes processes stand still and go on again, as a machine does that swaps, a container that is paused, or a
// disk that hangs: their connections stay open, and nothing answers.
import { withDescendants } from '@integration-sync/dev/family';

/** Stops the processes and all that they started; disposing lets them go on. */
export function freeze(pids: readonly number[]): Disposable {
  const family = withDescendants(pids);
  for (const pid of family) process.kill(pid, 'SIGSTOP');
  return {
    [Symbol.dispose]() {
      for (const pid of family.splice(0)) process.kill(pid, 'SIGCONT');
    },
  };
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
