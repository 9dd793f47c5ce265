import { execFileSync } from 'node:child_process';

export function withDescendants(pids: readonly number[]): number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const family = new Set(pids);
  const pairs = table.trim().split('\n').map((line) => line.trim().split(/\s+/).map(Number)); // oxfmt-ignore
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const [pid = 0, parent = 0] of pairs) if (family.has(parent)) family.add(pid);
  }
  return [...family];
}
