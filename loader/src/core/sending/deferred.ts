// Keeps the rows whose reference was not found. They are sent again after all other rows, unless a later row with the same id has
// replaced them. A rejected row does not replace a deferred row.
import type { Kind } from '@integration-sync/client';
import type { Item } from '../mapping/items.ts';
import { utf8Bytes } from '../bytes.ts';

export interface Deferred {
  kind: Kind;
  /** The index of the row's file among the files of the load. */
  file: number;
  row: number;
  id: string;
  raw: unknown;
  item: Item;
  reason: string;
}

/**
 * How many rows are deferred at most, because they are kept in memory. Further rows whose reference is not found are rejected
 * immediately.
 */
const heldMax = 20_000;

/** A line of the log: a deferred row, or the key of a row that is no longer deferred. */
export type DeferredEntry = Deferred | { dropped: string };

/** The log of deferred rows, for a load that is resumed after an interruption. */
export interface DeferredLog {
  write(bytes: Uint8Array): void;
}

export class DeferredRows {
  readonly #byId = new Map<string, Deferred>();
  readonly #log: DeferredLog;

  /** `entries` are those of the log of an interrupted load. */
  constructor(log: DeferredLog, entries: Iterable<DeferredEntry> = []) {
    this.#log = log;
    for (const entry of entries) {
      if ('dropped' in entry) this.#byId.delete(entry.dropped);
      else this.#byId.set(keyOf(entry), entry);
    }
  }

  /** Defers a row. False if too many rows are deferred already. */
  add(deferred: Deferred): boolean {
    if (this.#byId.size >= heldMax) return false;
    const line = JSON.stringify(deferred);
    // The row is copied: V8 may keep a cell as a slice of a large text, which then stays in memory.
    this.#byId.set(keyOf(deferred), JSON.parse(line));
    this.#log.write(utf8Bytes(`${line}\n`));
    return true;
  }

  /** Removes and returns the deferred row with this id, because a later row replaces it. */
  drop(kind: Kind, id: string): Deferred | undefined {
    if (this.#byId.size === 0) return undefined;
    const key = keyOf({ kind, id });
    const earlier = this.#byId.get(key);
    if (earlier === undefined) return undefined;
    this.#byId.delete(key);
    this.#log.write(utf8Bytes(`${JSON.stringify({ dropped: key })}\n`));
    return earlier;
  }

  of(file: number): Deferred[] {
    return [...this.#byId.values()].filter((one) => one.file === file);
  }

  first(count: number): Deferred[] {
    return [...this.#byId.values()].slice(0, count);
  }
}

const keyOf = ({ kind, id }: Pick<Deferred, 'kind' | 'id'>): string => `${kind} ${id}`;
