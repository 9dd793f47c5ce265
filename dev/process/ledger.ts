// A file with the running processes of the starter of a folder. A killed starter leaves its processes running; the next starter
// finds them here and ends them. It compares pid and start time, so that it ends no other process that got the same pid later.
//
// A process that opens a ledger holds the folder's lock: there is one writer, and the entries that it finds are stale.
import { existsSync, rmSync } from 'node:fs';
import { Type, type Static } from 'typebox';
import { endProcess, identify } from './identity.ts';
import { readJsonAs, writeJson } from './files.ts';

const Entry = Type.Object({
  name: Type.String(),
  pid: Type.Integer(),
  begunAt: Type.Union([Type.String(), Type.Null()]),
  /** The signal that stops the process in good order. */
  stopSignal: Type.Unsafe<NodeJS.Signals>(Type.String()),
});

export interface Ledger {
  /** One entry for each name: a process that is started again replaces the entry of the dead process. */
  enter(name: string, pid: number, stopSignal?: NodeJS.Signals): void;
  close(): void;
}

export function openLedger(path: string): Ledger {
  const entries = new Map<string, Static<typeof Entry>>();
  const write = (): void => writeJson(path, [...entries.values()]);
  write();
  return {
    enter(name, pid, stopSignal = 'SIGTERM') {
      const identity = identify(pid);
      const isAgain = entries.has(name);
      if (identity !== undefined) entries.set(name, { name, stopSignal, ...identity });
      try {
        write();
      } catch (error) {
        // A full disk does not prevent the restart of a dead process. The next call writes this entry too.
        if (!isAgain) throw error;
      }
    },
    close: () => rmSync(path, { force: true }),
  };
}

/** Ends the processes that a former starter left, the last started first. Resolves with their names. */
export async function endLeftovers(path: string): Promise<string[]> {
  const ended: string[] = [];
  const entries = readJsonAs(path, Type.Array(Entry)) ?? [];
  for (const entry of entries.toReversed()) {
    if (await endProcess(entry, { signal: entry.stopSignal })) ended.push(entry.name);
  }
  return ended;
}

/** Whether the ledger's owner was killed before it could close the ledger. */
export const isLeftOpen = (path: string): boolean => existsSync(path);
