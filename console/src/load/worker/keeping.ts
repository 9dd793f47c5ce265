// What the browser keeps of loads, in IndexedDB, by integration: how far a load is, the rows that it has rejected or deferred,
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
    const fail = (): void =>
      reject(
        new Error(
          `The browser could not save the progress of this load (${transaction.error?.message ?? 'aborted'}).`,
        ),
      );
    transaction.addEventListener('abort', fail);
    transaction.addEventListener('error', fail);
  });

export class Keeping implements Disposable {
  readonly #database: IDBDatabase;
  readonly #integration: string;

  private constructor(opening: IDBDatabase, integration: string) {
    this.#database = opening;
    this.#integration = integration;
  }

  static async open(integration: string): Promise<Keeping> {
    return new Keeping(await opened(), integration);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  async kept(): Promise<Kept | undefined> {
    const kept: Kept | undefined = await answered(this.#read('loads').get(this.#integration));
    return kept;
  }

  async history(): Promise<History> {
    const history: History | undefined = await answered(this.#read('history').get(this.#integration));
    return history ?? {};
  }

  async log(name: string): Promise<Uint8Array<ArrayBuffer>[]> {
    const pieces: Uint8Array<ArrayBuffer>[] = await answered(
      this.#read('pieces').getAll(piecesOf(this.#integration, name)),
    );
    return pieces;
  }

  /** Stores the state of the load, new pieces of its logs, and the history if given, in one transaction. */
  async keep({ state, pieces }: Kept, grown: readonly Piece[], history?: History): Promise<void> {
    const transaction = this.#database.transaction(stores, 'readwrite');
    const done = written(transaction);
    const logs = transaction.objectStore('pieces');
    grown.forEach(({ log, bytes }, at) => logs.put(bytes, [this.#integration, log, pieces + at]));
    const kept: Kept = { state, pieces: pieces + grown.length };
    transaction.objectStore('loads').put(kept, this.#integration);
    if (history !== undefined) transaction.objectStore('history').put(history, this.#integration);
    await done;
  }

  /** Forgets the load of the integration; its history stays. */
  async forget(): Promise<void> {
    const transaction = this.#database.transaction(stores, 'readwrite');
    const done = written(transaction);
    transaction.objectStore('loads').delete(this.#integration);
    transaction.objectStore('pieces').delete(piecesOf(this.#integration));
    await done;
  }

  #read(store: (typeof stores)[number]): IDBObjectStore {
    return this.#database.transaction(store).objectStore(store);
  }
}
