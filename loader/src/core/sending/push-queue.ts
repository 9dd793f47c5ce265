// Keeps several pushes in flight; of several rows with the same id, the last one is still stored last. A push has consecutive
// rows of the file, because their records are often neighbours in the database.
//
//   filling    rows are added to the push, until it has 500
//   waiting    the push waits until fewer are in flight, in the order of the file
//   in flight  the push is sent, in one request or several in succession, until all its rows are answered
//
// A row is held back while a push with an earlier row of its id waits or is in flight. Once that push is answered, the row is added.
import type { PushOutcome } from '@integration-sync/client';
import type { Lanes } from './lanes.ts';
import { itemsMax, type Push, type Slot } from './slots.ts';

export interface PushQueueOptions {
  lanes: Pick<Lanes, 'count' | 'answered' | 'refused'>;
  /** After an abort, waiting pushes are not sent, and no request is repeated. */
  interrupt?: AbortSignal;
  /** Calls `repeated` before each repetition of a request. */
  send(slots: readonly Slot[], repeated: () => void): Promise<PushOutcome>;
  answered(slots: readonly Slot[], outcome: PushOutcome): void;
}

export class PushQueue {
  readonly #options: PushQueueOptions;
  readonly #waiting: Push[] = [];
  readonly #flights = new Set<Promise<void>>();
  readonly #rows = new RowsById();
  #filling: Push = { slots: [], held: [] };
  #failure: { error: unknown } | undefined;
  #isStopped = false;

  constructor(options: PushQueueOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#flights.size === 0;
  }

  /** Whether a full push waits to be sent, so that no more rows should be added. */
  get isFull(): boolean {
    return this.#waiting.length > 0;
  }

  add(slot: Slot): void {
    const push = this.#rows.earlierOf(slot)?.push;
    if (push !== undefined && push !== this.#filling) {
      push.held.push(slot);
      return;
    }
    slot.push = this.#filling;
    // The order of rows without an id does not matter, because the service rejects them.
    if (push === undefined && slot.id !== '') this.#rows.add(slot);
    this.#filling.slots.push(slot);
    if (this.#filling.slots.length >= itemsMax) this.flush();
  }

  /** Sends the rows that were added, even if the push has room for more. */
  flush(): void {
    if (this.#filling.slots.length === 0) return;
    this.#waiting.push(this.#filling);
    this.#filling = { slots: [], held: [] };
    this.#start();
  }

  /** Waits until a push is answered. Throws the error of a push that failed. */
  async next(): Promise<void> {
    // If no push is in flight, no held row can be added to this push, so it is sent although it is not full.
    if (this.isIdle) this.flush();
    if (!this.isIdle) await Promise.race(this.#flights);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async drain(): Promise<void> {
    this.flush();
    while (!this.isIdle) {
      await this.next();
      this.flush();
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#options.interrupt?.throwIfAborted();
  }

  /** Starts no more pushes, and waits until those in flight have succeeded or failed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#flights);
  }

  #isEnded(): boolean {
    return this.#isStopped || this.#failure !== undefined || this.#options.interrupt?.aborted === true;
  }

  #start(): void {
    while (this.#flights.size < this.#options.lanes.count && !this.#isEnded()) {
      const push = this.#waiting.shift();
      if (push === undefined) return;
      const flight = this.#fly(push).finally(() => {
        this.#flights.delete(flight);
        this.#start();
      });
      this.#flights.add(flight);
    }
  }

  async #send(slots: readonly Slot[]): Promise<PushOutcome> {
    const { lanes, interrupt } = this.#options;
    let isWhole = slots.length === itemsMax;
    let sentAt = performance.now();
    const outcome = await this.#options.send(slots, () => {
      interrupt?.throwIfAborted();
      isWhole = false;
      lanes.refused(sentAt, performance.now());
      sentAt = performance.now();
    });
    // Only the times of full pushes without a repetition count: a small push takes less time, and a repeated push more.
    if (isWhole) lanes.answered(performance.now() - sentAt, this.#flights.size >= lanes.count);
    return outcome;
  }

  async #fly({ slots, held }: Push): Promise<void> {
    try {
      this.#options.answered(slots, await this.#send(slots));
      for (const slot of slots) this.#rows.delete(slot);
      for (const slot of held) this.add(slot);
    } catch (error) {
      this.#failure ??= { error };
    }
  }
}

/**
 * A hash table by id of the rows in waiting pushes and pushes in flight. With a Map instead, a million rows take 0.8 s more
 * processor time.
 */
class RowsById {
  readonly #first = Array.from<Slot | undefined>({ length: 2 ** 14 });

  /** An earlier row with the same id as this row, if the table has one. */
  earlierOf(slot: Slot): Slot | undefined {
    let earlier = this.#first[this.#placeOf(slot)];
    while (earlier !== undefined && earlier.id !== slot.id) earlier = earlier.next;
    return earlier;
  }

  add(slot: Slot): void {
    const place = this.#placeOf(slot);
    slot.next = this.#first[place];
    this.#first[place] = slot;
  }

  /** Removes a row from the table, if it is there. */
  delete(slot: Slot): void {
    const place = this.#placeOf(slot);
    let before = this.#first[place];
    if (before === slot) this.#first[place] = slot.next;
    while (before !== undefined && before.next !== slot) before = before.next;
    if (before !== undefined) before.next = slot.next;
    slot.next = slot.push = undefined;
  }

  /** The index of the hash bucket for the row's id, by FNV-1a. It is computed once for each row. */
  #placeOf(slot: Slot): number {
    if (slot.place !== undefined) return slot.place;
    const { id } = slot;
    let hash = 0x811c9dc5;
    for (let index = 0; index < id.length; index += 1) {
      hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
    }
    return (slot.place = (hash ^ (hash >>> 15)) & (this.#first.length - 1));
  }
}
