// How much memory processes hold.
import { execFileSync } from 'node:child_process';

/** Resident memory of all of them, in megabytes. */
export function residentMb(pids: readonly number[]): number {
  const kilobytes = execFileSync('ps', ['-o', 'rss=', '-p', pids.join(',')], { encoding: 'utf8' });
  return (
    kilobytes
      .trim()
      .split(/\s+/)
      .map(Number)
      .reduce((sum, part) => sum + part, 0) / 1_024
  );
}
