// Several pushes in flight, and yet the last row of an id wins. A push takes rows as they follow each other in their file: their
// records are neighbours in the database, too.
//
//   filling    rows are added, until there are 500
//   waiting    for a place in flight, in the order of the file
//   in flight  one request after the other, until all of the push is answered
//
// A row is held back while a push with an earlier row of its id waits or is in flight. Once that push is answered, the row is added.
import type { PushOutcome } from '@integration-sync/client';
import { itemsMax, type Push, type Slot } from './slots.ts';

export interface PushQueueOptions {
  inFlightMax: number;
  /** Once aborted, pushes that wait are not sent. */
  interrupt?: AbortSignal;
  send(slots: readonly Slot[]): Promise<PushOutcome>;
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

  /** Whether a whole push waits: more rows would wait behind it. */
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
    // The service rejects rows without an id, in whatever order.
    if (push === undefined && slot.id !== '') this.#rows.add(slot);
    this.#filling.slots.push(slot);
    if (this.#filling.slots.length >= itemsMax) this.flush();
  }

  /** Sends the rows that were added, also where the push has room for more. */
  flush(): void {
    if (this.#filling.slots.length === 0) return;
    this.#waiting.push(this.#filling);
    this.#filling = { slots: [], held: [] };
    this.#start();
  }

  /** Until a push has been answered. Throws what a push threw. */
  async next(): Promise<void> {
    // No answer will bring the rows that the push has room for.
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

  /** Starts no more pushes, and waits for those in flight, however they end. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#flights);
  }

  #isEnded(): boolean {
    return this.#isStopped || this.#failure !== undefined || this.#options.interrupt?.aborted === true;
  }

  #start(): void {
    while (this.#flights.size < this.#options.inFlightMax && !this.#isEnded()) {
      const push = this.#waiting.shift();
      if (push === undefined) return;
      const flight = this.#fly(push).finally(() => {
        this.#flights.delete(flight);
        this.#start();
      });
      this.#flights.add(flight);
    }
  }

  async #fly({ slots, held }: Push): Promise<void> {
    try {
      this.#options.answered(slots, await this.#options.send(slots));
      for (const slot of slots) this.#rows.delete(slot);
      for (const slot of held) this.add(slot);
    } catch (error) {
      this.#failure ??= { error };
    }
  }
}

/** The rows of pushes that wait or are in flight. With a Map in its place, a million rows take 0.8 s more processor time. */
class RowsById {
  readonly #first = Array.from<Slot | undefined>({ length: 2 ** 14 });

  /** The row of the same id that is there. */
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

  /** The slot may not be there. */
  delete(slot: Slot): void {
    const place = this.#placeOf(slot);
    let before = this.#first[place];
    if (before === slot) this.#first[place] = slot.next;
    while (before !== undefined && before.next !== slot) before = before.next;
    if (before !== undefined) before.next = slot.next;
    slot.next = slot.push = undefined;
  }

  /** FNV-1a, once for each row. */
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
