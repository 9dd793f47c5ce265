// How much memory processes hold.
import { execFileSync } from 'node:child_process';

/** Resident memory by pid, in megabytes; a process that has ended is left out. */
export function residentByPid(pids: readonly number[]): Map<number, number> {
  try {
    const table = execFileSync('ps', ['-o', 'pid=,rss=', '-p', pids.join(',')], { encoding: 'utf8' });
    const rows = table.trim().split('\n').map((line) => line.trim().split(/\s+/).map(Number)); // oxfmt-ignore
    return new Map(rows.map(([pid = 0, kilobytes = 0]) => [pid, kilobytes / 1_024]));
  } catch {
    // `ps` exits with 1 if none of the processes runs.
    return new Map();
  }
}

/** Resident memory of all these processes together, in megabytes. */
export function residentMb(pids: readonly number[]): number {
  const resident = residentByPid(pids);
  if (resident.size === 0) throw new RangeError(`of the processes ${pids.join(', ')}, none is running`);
  return [...resident.values()].reduce((sum, mb) => sum + mb, 0);
}
