// Several pushes in flight, and yet the last row of an id wins: all rows of an id go the same lane, which has one push in flight.
import type { PushOutcome } from '@integration-sync/client';
import type { Slot } from './slots.ts';

export interface LanesOptions {
  lanes: number;
  /** Once aborted, what waits in the lanes stays there. */
  interrupt?: AbortSignal;
  send(slots: readonly Slot[]): Promise<PushOutcome>;
  answered(slots: readonly Slot[], outcome: PushOutcome): void;
}

const itemsMax = 500;

interface Lane {
  waiting: Slot[];
  inFlight: boolean;
}

export class Lanes {
  readonly #options: LanesOptions;
  readonly #lanes: Lane[];
  readonly #flights = new Set<Promise<void>>();
  #failure: { error: unknown } | undefined;
  #isFlushing = false;
  #isStopped = false;

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#lanes = Array.from({ length: options.lanes }, () => ({ waiting: [], inFlight: false }));
  }

  get isIdle(): boolean {
    return this.#flights.size === 0;
  }

  add(slot: Slot): void {
    const lane = this.#laneOf(slot);
    if (lane === undefined) return;
    lane.waiting.push(slot);
    if (lane.waiting.length >= itemsMax) this.#start(lane);
  }

  /** Sends this row with what waits beside it, also where the push has room for more. */
  hurry(slot: Slot): void {
    const lane = this.#laneOf(slot);
    if (lane !== undefined) this.#start(lane);
  }

  /** Sends what waits, also where a push has room for more. */
  flush(): void {
    for (const lane of this.#lanes) this.#start(lane);
  }

  /** Until a push has been answered. Throws what a push threw. */
  async next(): Promise<void> {
    if (this.#flights.size > 0) await Promise.race(this.#flights);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async drain(): Promise<void> {
    this.#isFlushing = true;
    this.flush();
    while (this.#flights.size > 0) await this.next();
    this.#isFlushing = false;
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#options.interrupt?.throwIfAborted();
  }

  /** Starts no more pushes, and waits for those in flight, however they end. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#flights);
  }

  #laneOf({ id }: Slot): Lane | undefined {
    return this.#lanes[hashOf(id) % this.#lanes.length];
  }

  #isEnded(): boolean {
    return this.#isStopped || this.#failure !== undefined || this.#options.interrupt?.aborted === true;
  }

  #start(lane: Lane): void {
    if (lane.inFlight || lane.waiting.length === 0 || this.#isEnded()) return;
    const slots = lane.waiting.splice(0, itemsMax);
    lane.inFlight = true;
    const flight = this.#fly(lane, slots).finally(() => this.#flights.delete(flight));
    this.#flights.add(flight);
  }

  async #fly(lane: Lane, slots: readonly Slot[]): Promise<void> {
    try {
      this.#options.answered(slots, await this.#options.send(slots));
      lane.inFlight = false;
      if (lane.waiting.length >= itemsMax || this.#isFlushing) this.#start(lane);
    } catch (error) {
      this.#failure ??= { error };
    }
  }
}

/** FNV-1a. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
