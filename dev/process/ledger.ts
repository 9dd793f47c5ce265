// A file with the running processes of the starter of a folder. A killed starter leaves its processes running; the next starter
// finds them here and ends them. It compares pid and start time, so that it ends no other process that got the same pid later.
//
// A process that opens a ledger holds the folder's lock: there is one writer, and the entries that it finds
// are stale.
import { existsSync, rmSync } from 'node:fs';
import { endProcess, identify, type ProcessIdentity } from './identity.ts';
import { readJson, writeJson } from './files.ts';

export interface Entry extends ProcessIdentity {
  name: string;
  /** The signal that stops the process in good order. */
  stopSignal: NodeJS.Signals;
}

export interface Ledger {
  /** One entry for each name: a process that is started again replaces the entry of the dead process. */
  enter(name: string, pid: number, stopSignal?: NodeJS.Signals): void;
  close(): void;
}

export function openLedger(path: string): Ledger {
  const entries = new Map<string, Entry>();
  const write = (): void => writeJson(path, [...entries.values()]);
  write();
  return {
    enter(name, pid, stopSignal = 'SIGTERM') {
      const identity = identify(pid);
      if (identity !== undefined) entries.set(name, { name, stopSignal, ...identity });
      write();
    },
    close: () => rmSync(path, { force: true }),
  };
}

/** Ends the processes that a former starter left, the last started first. Resolves with their names. */
export async function endLeftovers(path: string): Promise<string[]> {
  const ended: string[] = [];
  for (const entry of readEntries(path).toReversed()) {
    if (await endProcess(entry, { signal: entry.stopSignal })) ended.push(entry.name);
  }
  return ended;
}

/** Whether the ledger's owner was killed before it could close the ledger. */
export const isLeftOpen = (path: string): boolean => existsSync(path);

function readEntries(path: string): Entry[] {
  const value = readJson(path);
  return Array.isArray(value) ? value.filter(isEntry) : [];
}

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'pid' in value &&
    typeof value.pid === 'number' &&
    'begunAt' in value &&
    typeof value.begunAt === 'string' &&
    'name' in value &&
    typeof value.name === 'string' &&
    'stopSignal' in value &&
    typeof value.stopSignal === 'string'
  );
}
