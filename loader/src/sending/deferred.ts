// Rows whose reference was not found. They are sent once more when all else is, unless a later row of their id came meanwhile.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Kind } from '@integration-sync/client';
import type { Item } from '../mapping/items.ts';
import { Output } from './output.ts';

export interface Deferred {
  kind: Kind;
  /** Of the files of the load, which. */
  file: number;
  row: number;
  id: string;
  raw: unknown;
  item: Item;
  reason: string;
}

/** More than these are rejected at once: they are held in memory. */
const heldMax = 20_000;

export class DeferredRows implements AsyncDisposable {
  readonly #byId = new Map<string, Deferred>();
  readonly log: Output;

  private constructor(log: Output) {
    this.log = log;
  }

  /** With `bytes`, what an interrupted load has left. */
  static async open(path: string, bytes?: number): Promise<DeferredRows> {
    const rows = new DeferredRows(Output.at(path, bytes));
    if (bytes === undefined || bytes === 0) return rows;
    // What comes after is of rows that are sent again, and its last line may be cut off.
    const input = createReadStream(path, { end: bytes - 1 });
    for await (const line of createInterface({ input })) {
      const entry: Deferred | { dropped: string } = JSON.parse(line);
      if ('dropped' in entry) rows.#byId.delete(entry.dropped);
      else rows.#byId.set(keyOf(entry), entry);
    }
    return rows;
  }

  /** False where there are too many. */
  add(deferred: Deferred): boolean {
    if (this.#byId.size >= heldMax) return false;
    const line = JSON.stringify(deferred);
    // A copy: a cell may be a part of a block of the file, which it would hold in memory.
    this.#byId.set(keyOf(deferred), JSON.parse(line));
    this.log.write(Buffer.from(`${line}\n`));
    return true;
  }

  /** The earlier row of that id, which is no longer to be sent. */
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
