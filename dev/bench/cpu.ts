// Measures processor time by Linux's counters in /proc: by process, and of all other work on the machine.
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { readText } from '../process/files.ts';

/** Pids by the name in the table. The descendants of a process count for it, unless they have a name of their own. */
export type Processes = Readonly<Record<string, readonly number[]>>;

/** The name of the measuring process itself, which also has the time of its unnamed descendants. */
export const caller = 'caller';

export interface Spent {
  /** Milliseconds by the name of the process. */
  byProcess: Map<string, number>;
  /** The processor time of the whole machine in the measured span, and the part that other processes used. */
  machineMs: number;
  otherMs: number;
}

export const nothingSpent = (): Spent => ({ byProcess: new Map(), machineMs: 0, otherMs: 0 });

export function addSpent(to: Spent, more: Spent): void {
  to.machineMs += more.machineMs;
  to.otherMs += more.otherMs;
  for (const [name, ms] of more.byProcess) to.byProcess.set(name, spentBy(to, name) + ms);
}

export const spentBy = ({ byProcess }: Spent, name: string): number => byProcess.get(name) ?? 0;

/** The processor time of the processes whose names are counted. */
export const spentWhere = (spent: Spent, isCounted: (name: string) => boolean): number =>
  [...spent.byProcess.keys()].filter(isCounted).reduce((sum, name) => sum + spentBy(spent, name), 0);

export const otherShare = ({ machineMs, otherMs }: Spent): number =>
  machineMs === 0 ? 0 : Math.max(0, otherMs / machineMs);

/** Begins to measure; the returned function ends the measurement. */
export function beginMeasuring(processes: Processes): () => Spent {
  const named = { ...processes, [caller]: [process.pid] };
  const before = readSnapshot(named);
  return () => difference(before, readSnapshot(named));
}

interface Snapshot {
  machine: { busyMs: number; allMs: number };
  /** By name, the times of the processes of that name, by pid. */
  byName: Map<string, Map<number, ProcessTimes>>;
}

interface ProcessTimes {
  ms: number;
  /** The time of those children of the process that have ended. */
  endedMs: number;
}

function difference(before: Snapshot, after: Snapshot): Spent {
  const spent = nothingSpent();
  let ownMs = 0;
  for (const [name, processes] of after.byName) {
    const known = before.byName.get(name) ?? new Map<number, ProcessTimes>();
    let usedMs = endedBetween(known, processes);
    for (const [pid, { ms }] of processes) usedMs += Math.max(0, ms - (known.get(pid)?.ms ?? 0));
    ownMs += usedMs;
    spent.byProcess.set(name, usedMs);
  }
  spent.machineMs = after.machine.allMs - before.machine.allMs;
  spent.otherMs = Math.max(0, after.machine.busyMs - before.machine.busyMs - ownMs);
  return spent;
}

/** Linux adds the whole time of an ended process to its parent, so the time before the measurement is subtracted. */
function endedBetween(before: Map<number, ProcessTimes>, after: Map<number, ProcessTimes>): number {
  let sumMs = 0;
  for (const { endedMs } of after.values()) sumMs += endedMs;
  for (const [pid, { ms, endedMs }] of before) sumMs -= after.has(pid) ? endedMs : ms;
  return Math.max(0, sumMs);
}

function readSnapshot(named: Processes): Snapshot {
  const { endedMsOf, childrenOf } = readTree();
  const withName = new Set(Object.values(named).flat());
  const byName = new Map<string, Map<number, ProcessTimes>>();
  for (const [name, pids] of Object.entries(named)) {
    const all = new Map<number, ProcessTimes>();
    const open = [...pids];
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      const endedMs = endedMsOf.get(pid);
      if (endedMs === undefined) continue;
      all.set(pid, { ms: readThreadsMs(pid), endedMs });
      open.push(...(childrenOf.get(pid) ?? []).filter((child) => !withName.has(child)));
    }
    byName.set(name, all);
  }
  return { machine: readMachine(), byName };
}

const msPerTick = 10;

/** Waiting for a disk counts as idle; time that the hypervisor gave to another machine ("steal") does not. */
function readMachine(): Snapshot['machine'] {
  const [line = ''] = (readText('/proc/stat') ?? '').split('\n');
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0);
  const all = ticks.reduce((sum, one) => sum + one, 0);
  return { busyMs: (all - idle) * msPerTick, allMs: all * msPerTick };
}

interface Tree {
  endedMsOf: Map<number, number>;
  childrenOf: Map<number, number[]>;
}

function readTree(): Tree {
  const tree: Tree = { endedMsOf: new Map(), childrenOf: new Map() };
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = readText(`/proc/${entry}/stat`);
    if (stat === undefined) continue;
    // The program's name is in parentheses and may itself have spaces.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [pid, parent = 0] = [Number(entry), fields[1]];
    tree.endedMsOf.set(pid, ((fields[13] ?? 0) + (fields[14] ?? 0)) * msPerTick);
    tree.childrenOf.set(parent, [...(tree.childrenOf.get(parent) ?? []), pid]);
  }
  return tree;
}

/** The time of all threads of a process, exact to the nanosecond. A thread or process may end meanwhile. */
function readThreadsMs(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((tid) => readText(`/proc/${pid}/task/${tid}/schedstat`) ?? '')
      .reduce((ms, text) => ms + Number(text.split(' ')[0]) / 1e6, 0);
  } catch {
    return 0;
  }
}

export const processors = availableParallelism();
