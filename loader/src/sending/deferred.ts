// Rows whose reference was not found. They are sent again after all other rows, unless a later row of the same id replaces
// them, which a rejected row does not.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Kind } from '@integration-sync/client';
import type { Item } from '../mapping/items.ts';
import { Output } from './output.ts';

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

/** Further rows are rejected immediately, because deferred rows are kept in memory. */
const heldMax = 20_000;

export class DeferredRows implements AsyncDisposable {
  readonly #byId = new Map<string, Deferred>();
  readonly log: Output;

  private constructor(log: Output) {
    this.log = log;
  }

  /** With `bytes`, reads the rows that an interrupted load deferred: so many bytes of the file. */
  static async open(path: string, bytes?: number): Promise<DeferredRows> {
    const rows = new DeferredRows(Output.at(path, bytes));
    if (bytes === undefined || bytes === 0) return rows;
    // Later bytes are of rows that the resumed load sends again, and their last line may be incomplete.
    const input = createReadStream(path, { end: bytes - 1 });
    for await (const line of createInterface({ input })) {
      const entry: Deferred | { dropped: string } = JSON.parse(line);
      if ('dropped' in entry) rows.#byId.delete(entry.dropped);
      else rows.#byId.set(keyOf(entry), entry);
    }
    return rows;
  }

  /** False if too many rows are deferred. */
  add(deferred: Deferred): boolean {
    if (this.#byId.size >= heldMax) return false;
    const line = JSON.stringify(deferred);
    // A copy: V8 may keep a cell as a slice of a large text, which then stays in memory.
    this.#byId.set(keyOf(deferred), JSON.parse(line));
    this.log.write(Buffer.from(`${line}\n`));
    return true;
  }

  /** Removes and returns the deferred row with this id, which a later row replaces. */
  drop(kind: Kind, id: string): Deferred | undefined {
    if (this.#byId.size === 0) return undefined;
    const key = keyOf({ kind, id });
    const earlier = this.#byId.get(key);
    if (earlier === undefined) return undefined;
    this.#byId.delete(key);
    this.log.write(Buffer.from(`${JSON.stringify({ dropped: key })}\n`));
    return earlier;
  }

  of(file: number): Deferred[] {
    return [...this.#byId.values()].filter((one) => one.file === file);
  }

  first(count: number): Deferred[] {
    return [...this.#byId.values()].slice(0, count);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.log[Symbol.asyncDispose]();
  }
}

const keyOf = ({ kind, id }: Pick<Deferred, 'kind' | 'id'>): string => `${kind} ${id}`;
