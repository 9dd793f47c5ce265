// Strikes a process of the stack, and only of the stack of this storm: one that the stack's own process has
// started and that is in its list at that moment.
import { execFileSync } from 'node:child_process';
import { withDescendants } from '../process/family.ts';
import { sendSignal } from '../process/identity.ts';
import { readFacts } from '../stack/facts.ts';
import type { PlannedFault, Target } from './fault.ts';
import { clockMs } from './ledger.ts';
import type { FaultLine } from './lines.ts';
import { readLive, stackFolderOf } from './plan.ts';

export function openStriker(folder: string, stackPid: number) {
  const standing = new Map<number, { family: readonly number[]; timer: NodeJS.Timeout }>();

  const letGoOn = (pid: number): void => {
    const stopped = standing.get(pid);
    clearTimeout(stopped?.timer);
    for (const member of stopped?.family ?? []) sendSignal(member, 'SIGCONT');
    standing.delete(pid);
  };

  return {
    /** Strikes a process of the target. Undefined if none lives now, or if it is frozen already. */
    strike({ target, nth, kind, forMs }: PlannedFault): FaultLine | undefined {
      const pids = pidsOf(folder, target).filter((pid) => !standing.has(pid) && isChildOf(pid, stackPid));
      const pid = pids[nth % Math.max(pids.length, 1)];
      if (pid === undefined) return undefined;
      const atMs = clockMs();
      if (kind === 'stop') {
        const family = withDescendants([pid]);
        for (const member of family) sendSignal(member, 'SIGSTOP');
        standing.set(pid, { family, timer: setTimeout(() => letGoOn(pid), forMs) });
      } else {
        // At SIGTERM, PostgreSQL waits for its sessions to end, which never happens.
        sendSignal(pid, kind === 'kill' ? 'SIGKILL' : isPostgres(pid) ? 'SIGINT' : 'SIGTERM');
      }
      return { target, kind, pid, atMs, untilMs: atMs + forMs };
    },
    [Symbol.dispose]() {
      for (const pid of standing.keys()) letGoOn(pid);
    },
  };
}

export function pidsOf(folder: string, target: Target): number[] {
  const pids = readFacts(stackFolderOf(folder))?.pids ?? {};
  if (target !== 'database' && target !== 'postgresql')
    return [...(pids[target] ?? []), ...(readLive(folder).pids[target] ?? [])];
  const engines = pids['mongodb'] ?? [];
  // With mongod there is no PostgreSQL, so mongod is struck.
  const wantsPostgres = target === 'postgresql' && engines.some(isPostgres);
  return engines.filter((pid) => isPostgres(pid) === wantsPostgres);
}

const isPostgres = (pid: number): boolean => askPs('comm=', pid).includes('postgres');

/** Whether the process is a child of the process that started the stack. */
export const isChildOf = (pid: number, stackPid: number): boolean => Number(askPs('ppid=', pid)) === stackPid;

function askPs(what: string, pid: number): string {
  try {
    return execFileSync('ps', ['-o', what, '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    // `ps` fails for a process that has ended meanwhile.
    return '';
  }
}
