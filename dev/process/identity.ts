// Which process a pid stands for. A pid alone is reused; a pid with the moment its process began is not.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export interface ProcessIdentity {
  pid: number;
  /** When the process began, to compare only. Null if the system does not tell; then no later start ends the process. */
  begunAt: string | null;
}

/** Undefined when no such process runs; a killed process that its parent has not reaped yet does not run. */
export function identify(pid: number): ProcessIdentity | undefined {
  if (process.platform === 'linux') return identifyByProc(pid);
  if (process.platform === 'win32') return answersSignal(pid) ? { pid, begunAt: null } : undefined;
  return identifyByPs(pid);
}

/** Whether this very process still runs, and not another process under its pid. */
export function runs(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.begunAt === identity.begunAt;
}

export interface EndOptions {
  signal?: NodeJS.Signals;
  /** How long a process may take to stop by itself before it is killed. */
  graceMs?: number;
}

/** Ends a process that this process has not started. Resolves with whether the process ran. */
export async function endProcess(identity: ProcessIdentity, options: EndOptions = {}): Promise<boolean> {
  const { signal = 'SIGTERM', graceMs = 5_000 } = options;
  if (identity.begunAt === null || !runs(identity)) return false;
  sendSignal(identity.pid, signal);
  if (!(await goneWithin(identity, graceMs))) {
    sendSignal(identity.pid, 'SIGKILL');
    if (!(await goneWithin(identity, 10_000))) throw new Error(`process ${identity.pid} survives SIGKILL`);
  }
  return true;
}

/** Sends a signal; a process that has ended meanwhile is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function goneWithin(identity: ProcessIdentity, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (runs(identity)) {
    if (performance.now() > end) return false;
    await wait(20);
  }
  return true;
}

function identifyByProc(pid: number): ProcessIdentity | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field, the program's name in brackets, may itself hold brackets and spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, beganAtTick] = [fields[0], fields[19]];
  if (state === 'Z' || state === 'X' || beganAtTick === undefined) return undefined;
  // Ticks count from the boot of the machine, so the identity also has the id of the boot.
  return { pid, begunAt: `${readText('/proc/sys/kernel/random/boot_id')?.trim()}:${beganAtTick}` };
}

function identifyByPs(pid: number): ProcessIdentity | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, LC_ALL: 'C' },
    }).trim();
    const [, state, begunAt] = /^(\S+)\s+(.+)$/.exec(line) ?? [];
    return state === undefined || begunAt === undefined || state.startsWith('Z')
      ? undefined
      : { pid, begunAt };
  } catch {
    // `ps` exits with 1 when there is no such process.
    return undefined;
  }
}

function answersSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process may end between two reads.
    return undefined;
  }
}
