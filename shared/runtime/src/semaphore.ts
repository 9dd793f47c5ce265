// A semaphore: a bounded number of jobs runs at a time, and further jobs wait in a fair queue (fair-queue.ts).
//
// A job runs for a key, which is an integration. A free permit goes to the waiting key that holds the fewest permits, among equal
// keys in turns, and within a key in the order of arrival. So a key with many jobs does not delay other keys.
//
//   a key may hold one more          while fewer than `max` permits are held in all, and
//   with `perKeyMax`                 while the key holds fewer than `perKeyMax`
//   with `share`                     while the key holds none, or less than `timesFree` times the free permits beyond `kept`: a
//                                    single key gets nearly all, and the more keys there are, the fewer each may hold
//   with `spare`                     beyond `max`, so many permits are for keys that hold none
//   with `aloneForMs`                while no permit is held, or once its job has waited for so long
//
//   `timesFree` 10 of `max` 1,024    one key     two   ten   thirty
//   ───────────────────────────────  ──────────  ────  ────  ──────
//   each holds up to                 921         482   100   33
//   free                             103         60    24    34
//
//   the queue is full                a new job is refused
//   a job waited for `patienceMs`    the job is refused; but the first job of a key stays, if any key got a turn within
//                                    `patienceMs`: the turn of this job will come
//
// A running job may find that it must wait for another job of its key. The job then releases its permit, and has its next turn
// before jobs that had none yet. The queue refuses the job after `heldBackPatienceMs`, or after `patienceMs` if no job of its key
// has ended for that long.
import { openFairQueue, type FairQueue, type QueueLimits } from './fair-queue.ts';
import { openWatch } from './watch.ts';

/** `key`: the integration for which the work runs; left out for work of no integration. */
export type RunInTurn = <T>(work: () => Promise<T>, key?: string) => Promise<T>;

export interface SemaphoreOptions {
  max: number;
  perKeyMax?: number;
  share?: { timesFree: number; kept?: number };
  spare?: number;
  aloneForMs?: number;
  /** Limits of the waiting jobs; unless given, no job is refused. */
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
  /** One timer for all waiting jobs. */
  readonly #watch = openWatch(lookEveryMs, () => this.#look());
  #held = 0;
  #lastTurnAt = -Infinity;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
    this.#limits = options.queue ?? unbounded;
    this.#queue = openFairQueue(this.#limits);
    this.#aloneForMs = options.aloneForMs ?? 0;
  }

  get held(): number {
    return this.#held;
  }

  get free(): number {
    return Math.max(this.#options.max - this.#held, 0);
  }

  /** A key that holds permits may get another one now if it holds fewer than this, by the option `share`. */
  get share(): number {
    const { share } = this.#options;
    return share === undefined ? Infinity : Math.max(this.free - (share.kept ?? 0), 0) * share.timesFree;
  }

  /** A key that holds more permits than this gets no further permit now. */
  get heldMax(): number {
    const { max, spare = 0, perKeyMax = Infinity } = this.#options;
    if (this.#held >= max + spare) return -1;
    return this.#held >= max ? 0 : Math.max(Math.min(perKeyMax, this.share) - 1, 0);
  }

  heldBy = (key: string): number => this.#byKey.get(key) ?? 0;

  mayTake(key: string): boolean {
    return this.heldBy(key) <= this.heldMax;
  }

  /** Takes a permit even beyond the limits, for work that cannot be refused but counts against them. */
  take(key: string): void {
    this.#held += 1;
    this.#byKey.set(key, this.heldBy(key) + 1);
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Undefined if the job may begin immediately. Throws, or rejects, if the queue refuses the job. */
  acquire(key: string, bytes: number): Promise<void> | undefined {
    if (this.mayTake(key) && this.#waitedMsMin === 0) {
      this.take(key);
      return undefined;
    }
    const turn = this.#queue.join(key, bytes);
    this.#beginWatch();
    return turn;
  }

  /** Must be called once for each permit that was taken or acquired. */
  release(key: string): void {
    this.#held -= 1;
    const left = this.heldBy(key) - 1;
    if (left > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
    this.#queue.noteEnd(key);
    this.#giveTurns();
  }

  /** Releases the permit, and acquires one again after `until`. A job that the queue refuses must still call `release`. */
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

  /** Acquires a permit, runs `work` and releases. `work` never begins before the function has returned. */
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
