// A semaphore: a bounded amount of work is done at once, and the rest waits in a fair queue (fair-queue.ts).
//
// Work is done for a key, which is an integration. Free room goes to the waiting key that holds least, and among equals by
// turns; within a key, first come first served. So no key waits longer because another has brought much.
//
//   a key may hold one more          while `max` are not held in all, and
//   where `perKeyMax` is given       while it holds fewer than that
//   where `share` is given           while it holds nothing, or less than `timesFree` times what is free beside `kept`: one
//                                    key alone gets nearly all, and the more there are, the fewer each may hold
//   where `spare` is given           beyond `max`, so many are for keys that hold nothing
//   where `aloneForMs` is given      while nothing is held, or once its work has waited for so long
//
//   at 10 times of 1,024, 10 kept    one alone   two   ten   thirty
//   ───────────────────────────────  ──────────  ────  ────  ──────
//   each holds up to                 921         482   100   33
//   free                             103         60    24    34
//
//   there is no room to wait         refused
//   waited for `patienceMs`          refused; the first of a key only if nothing was handed on for that long. While turns go
//                                    on its own will come, however many keys there are.
//
// Work in hand may find that it must wait for other work of its key. It gives up what it holds for so long, and has its next
// turn before the work that had none yet. It is refused after `heldBackPatienceMs`, or after `patienceMs` where no work of
// its key has ended for that long.
import { openFairQueue, type FairQueue, type QueueLimits } from './fair-queue.ts';
import { openWatch } from './watch.ts';

export type { QueueLimits } from './fair-queue.ts';

/** `key`: the integration that the work is for, with which it shares its turns; none for work of nobody in particular. */
export type RunInTurn = <T>(work: () => Promise<T>, key?: string) => Promise<T>;

export interface SemaphoreOptions {
  max: number;
  perKeyMax?: number;
  share?: { timesFree: number; kept?: number };
  spare?: number;
  aloneForMs?: number;
  /** Unless given, whatever comes waits until its turn. */
  queue?: QueueLimits;
}

const unbounded: QueueLimits = {
  countMax: Infinity,
  bytesMax: Infinity,
  shareMax: 1,
  patienceMs: Infinity,
  heldBackPatienceMs: Infinity,
};
const lookEveryMs = 100;

export const openSemaphore = (options: SemaphoreOptions): Semaphore => new Semaphore(options);

export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #byKey = new Map<string, number>();
  readonly #queue: FairQueue;
  readonly #limits: QueueLimits;
  readonly #aloneForMs: number;
  /** One for all that wait. */
  readonly #watch = openWatch(lookEveryMs, () => this.#look());
  #held = 0;
  #lastTurnAt = -Infinity;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#limits = options.queue ?? unbounded;
    this.#queue = openFairQueue(this.#limits);
    this.#aloneForMs = options.aloneForMs ?? 0;
  }

  /** How much work is done now. */
  get held(): number {
    return this.#held;
  }

  get free(): number {
    return Math.max(this.#options.max - this.#held, 0);
  }

  /** What a key that holds some may hold now, until others come. */
  get share(): number {
    const { share } = this.#options;
    return share === undefined ? Infinity : Math.max(this.free - (share.kept ?? 0), 0) * share.timesFree;
  }

  /** A key that holds more than this gets no more now. */
  get heldMax(): number {
    const { max, spare = 0, perKeyMax = Infinity } = this.#options;
    if (this.#held >= max + spare) return -1;
    return this.#held >= max ? 0 : Math.max(Math.min(perKeyMax, this.share) - 1, 0);
  }

  heldBy = (key: string): number => this.#byKey.get(key) ?? 0;

  mayTake(key: string): boolean {
    return this.heldBy(key) <= this.heldMax;
  }

  /** Unasked: what cannot be refused counts all the same. */
  take(key: string): void {
    this.#held += 1;
    this.#byKey.set(key, this.heldBy(key) + 1);
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Undefined where the work may begin at once. Throws, or rejects, where it is refused. */
  acquire(key: string, bytes: number): Promise<void> | undefined {
    if (this.mayTake(key) && this.#waitedMsMin === 0) {
      this.take(key);
      return undefined;
    }
    const turn = this.#queue.join(key, bytes);
    this.#beginWatch();
    return turn;
  }

  /** Once for each that was taken or acquired. */
  release(key: string): void {
    this.#held -= 1;
    const left = this.heldBy(key) - 1;
    if (left > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
    this.#queue.noteEnd(key);
    this.#giveTurns();
  }

  /** Releases, and acquires again after `until`. Where the work is refused, it has to release all the same. */
  async releaseUntil(key: string, bytes: number, until: Promise<void>): Promise<void> {
    const held = this.#queue.holdBack(key, bytes);
    this.#beginWatch();
    this.release(key);
    void until.then(() => {
      held.release();
      this.#giveTurns();
    });
    try {
      await held.turn;
    } catch (error) {
      this.take(key);
      throw error;
    }
  }

  /** Acquires, works and releases. The work never begins before this function has returned. */
  readonly run: RunInTurn = async (work, key = '') => {
    await this.acquire(key, 0);
    try {
      return await work();
    } finally {
      this.release(key);
    }
  };

  get #waitedMsMin(): number {
    return this.held === 0 ? 0 : this.#aloneForMs;
  }

  #giveTurns(): void {
    while (this.#queue.waiting > 0) {
      const next = this.#queue.giveTurn(this.heldBy, this.heldMax, this.#waitedMsMin);
      if (next === undefined) return;
      this.#lastTurnAt = performance.now();
      this.take(next);
    }
  }

  #beginWatch(): void {
    if (this.#limits.patienceMs < Infinity || this.#aloneForMs > 0) this.#watch.begin();
  }

  #look(): boolean {
    if (this.#aloneForMs > 0) this.#giveTurns();
    this.#queue.refuse(performance.now() - this.#lastTurnAt < this.#limits.patienceMs);
    return this.#queue.waiting > 0;
  }
}
