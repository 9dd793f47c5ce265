// How much memory each of several processes holds.
import { execFileSync } from 'node:child_process';

/** Resident memory by pid, in megabytes; a process that has ended is left out. */
export function residentByPid(pids: readonly number[]): Map<number, number> {
  const table = readTable(pids);
  const rows = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  return new Map(rows.map(([pid = 0, kilobytes = 0]) => [pid, kilobytes / 1_024]));
}

function readTable(pids: readonly number[]): string {
  try {
    return execFileSync('ps', ['-o', 'pid=,rss=', '-p', pids.join(',')], { encoding: 'utf8' });
  } catch {
    // ps exits with 1 where none of them runs.
    return '';
  }
}
