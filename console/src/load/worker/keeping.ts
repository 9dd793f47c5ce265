// What the browser keeps of loads, in IndexedDB, by slot: how far a load is, the rows that it has rejected or deferred,
// results, and the history for prune. Files themselves are not kept, and neither is the token.
import type { History, LoadState } from 'integration-sync/core';
import { database, piecesOf, stores } from '../../api/kept-loads.ts';

export { lockOf } from '../../api/kept-loads.ts';

export interface Kept {
  state: LoadState;
  /** The number of pieces (see `Piece`) that are stored. */
  pieces: number;
}

/** Bytes that are appended to a log. */
export interface Piece {
  log: string;
  bytes: Uint8Array;
}

export const nowhereToKeep = (): Error =>
  new Error('The browser could not use IndexedDB: load the page again.');

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open(database, 1);
  request.addEventListener('upgradeneeded', () => {
    for (const store of stores) request.result.createObjectStore(store);
  });
  return answered(request);
}

const answered = <Value>(request: IDBRequest<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('IndexedDB failed')));
  });

const written = (transaction: IDBTransaction): Promise<void> =>
  new Promise((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve());
    // A request that fails aborts its transaction.
    transaction.addEventListener('abort', () =>
      reject(new Error(`The browser could not save the progress of this load: ${String(transaction.error)}`)),
    );
  });

export class Keeping {
  readonly #database: IDBDatabase;
  readonly slot: string;

  private constructor(opening: IDBDatabase, slot: string) {
    this.#database = opening;
    this.slot = slot;
  }

  static async open(slot: string): Promise<Keeping> {
    return new Keeping(await opened(), slot);
  }

  async kept(): Promise<Kept | undefined> {
    const kept: Kept | undefined = await answered(this.#read('loads').get(this.slot));
    return kept;
  }

  async history(): Promise<History> {
    const history: History | undefined = await answered(this.#read('history').get(this.slot));
    return history ?? {};
  }

  async log(name: string): Promise<Uint8Array<ArrayBuffer>[]> {
    const pieces: Uint8Array<ArrayBuffer>[] = await answered(
      this.#read('pieces').getAll(piecesOf(this.slot, name)),
    );
    return pieces;
  }

  /** Stores the state of the load, new pieces of its logs, and the history if given, in one transaction. */
  async keep({ state, pieces }: Kept, grown: readonly Piece[], history?: History): Promise<void> {
    const transaction = this.#begin('readwrite');
    const done = written(transaction);
    const logs = transaction.objectStore('pieces');
    grown.forEach(({ log, bytes }, at) => logs.put(bytes, [this.slot, log, pieces + at]));
    const kept: Kept = { state, pieces: pieces + grown.length };
    transaction.objectStore('loads').put(kept, this.slot);
    if (history !== undefined) transaction.objectStore('history').put(history, this.slot);
    await done;
  }

  /** Forgets the load of the slot; its history stays. */
  async forget(): Promise<void> {
    const transaction = this.#begin('readwrite');
    const done = written(transaction);
    transaction.objectStore('loads').delete(this.slot);
    transaction.objectStore('pieces').delete(piecesOf(this.slot));
    await done;
  }

  #read(store: (typeof stores)[number]): IDBObjectStore {
    return this.#begin('readonly').objectStore(store);
  }

  #begin(mode: IDBTransactionMode): IDBTransaction {
    try {
      return this.#database.transaction(stores, mode);
    } catch {
      // The browser has closed the database, because a person has deleted the data of the site.
      throw nowhereToKeep();
    }
  }
}
