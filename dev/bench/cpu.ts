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
  // Read last, so that the reading of the other processes is not part of the measured time.
  const mine = readThreads(process.pid);
  return () => {
    const mineAfter = readThreads(process.pid);
    return difference({ ...before, mine }, { ...readSnapshot(named), mine: mineAfter });
  };
}

interface Snapshot {
  machine: { busyMs: number; allMs: number };
  /** By name, the times of its processes by pid. */
  byName: Map<string, Map<number, ProcessTimes>>;
}

interface ProcessTimes {
  threads: Threads;
  ms: number;
  /** The time of its children that have ended. */
  endedMs: number;
}

/** The milliseconds of each thread by its id. */
type Threads = Map<number, number>;

type Measured = Snapshot & { mine: Threads };

function difference(before: Measured, after: Measured): Spent {
  const spent = nothingSpent();
  let ownMs = 0;
  for (const [name, processes] of after.byName) {
    const known = before.byName.get(name) ?? new Map<number, ProcessTimes>();
    let usedMs = endedBetween(known, processes);
    for (const [pid, times] of processes) {
      const isMe = pid === process.pid;
      const threadsBefore = isMe ? before.mine : known.get(pid)?.threads;
      for (const [tid, ms] of isMe ? after.mine : times.threads)
        usedMs += ms - (threadsBefore?.get(tid) ?? 0);
    }
    ownMs += usedMs;
    spent.byProcess.set(name, usedMs);
  }
  spent.machineMs = after.machine.allMs - before.machine.allMs;
  spent.otherMs = Math.max(0, after.machine.busyMs - before.machine.busyMs - ownMs);
  return spent;
}

/** Linux adds the whole time of an ended process to its parent, so the time before the measurement is subtracted. */
function endedBetween(before: Map<number, ProcessTimes>, after: Map<number, ProcessTimes>): number {
  const sum = (all: Iterable<ProcessTimes>): number => [...all].reduce((ms, { endedMs }) => ms + endedMs, 0);
  const gone = [...before].filter(([pid]) => !after.has(pid));
  const survivors = [...before].filter(([pid]) => after.has(pid)).map(([, times]) => times);
  const usedBefore = gone.reduce((ms, [, times]) => ms + times.ms, 0);
  return Math.max(0, sum(after.values()) - sum(survivors) - usedBefore);
}

function readSnapshot(named: Processes): Snapshot {
  const machine = readMachine();
  const { byPid, childrenOf } = readTree();
  const nameOf = new Map(Object.entries(named).flatMap(([name, pids]) => pids.map((pid) => [pid, name])));
  const byName = new Map<string, Map<number, ProcessTimes>>();
  for (const [name, pids] of Object.entries(named)) {
    const all = new Map<number, ProcessTimes>();
    const open = [...pids];
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      const found = byPid.get(pid);
      if (found === undefined) continue;
      all.set(pid, { ...found, threads: readThreads(pid) });
      for (const child of childrenOf.get(pid) ?? []) {
        if (!nameOf.has(child)) open.push(child);
      }
    }
    byName.set(name, all);
  }
  return { machine, byName };
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
  byPid: Map<number, Pick<ProcessTimes, 'ms' | 'endedMs'>>;
  childrenOf: Map<number, number[]>;
}

function readTree(): Tree {
  const byPid: Tree['byPid'] = new Map();
  const childrenOf: Tree['childrenOf'] = new Map();
  for (const entry of readdirSync('/proc')) {
    const fields = /^\d+$/.test(entry) ? readStat(`/proc/${entry}/stat`) : undefined;
    if (fields === undefined) continue;
    const pid = Number(entry);
    byPid.set(pid, { ms: ticksIn(fields, 11, 12), endedMs: ticksIn(fields, 13, 14) });
    const parent = Number(fields[1]);
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), pid]);
  }
  return { byPid, childrenOf };
}

const ticksIn = (fields: readonly string[], ...places: number[]): number =>
  places.reduce((sum, place) => sum + Number(fields[place]), 0) * msPerTick;

/** The fields of /proc/…/stat after the program's name, which stands in parentheses and may itself hold spaces. */
function readStat(path: string): string[] | undefined {
  const stat = readText(path);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readThreads(pid: number): Threads {
  const threads: Threads = new Map();
  for (const tid of threadIds(pid)) {
    const ms = readThreadMs(`/proc/${pid}/task/${tid}`);
    // The thread may end between two reads.
    if (ms !== undefined) threads.set(Number(tid), ms);
  }
  return threads;
}

function threadIds(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // The process has ended meanwhile.
    return [];
  }
}

/** Exact to the nanosecond if the kernel has schedstat, else to a tick of 10 ms. */
function readThreadMs(folder: string): number | undefined {
  const [onProcessor] = readText(`${folder}/schedstat`)?.split(' ') ?? [];
  if (onProcessor !== undefined) return Number(onProcessor) / 1e6;
  const fields = readStat(`${folder}/stat`);
  return fields === undefined ? undefined : ticksIn(fields, 11, 12);
}

export const processors = availableParallelism();
