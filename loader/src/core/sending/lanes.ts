// How many pushes are in flight. The service is to have work without a pause, while few pushes wait there. So the law is that of
// gradients, as in Netflix' concurrency-limits after TCP Vegas: the lowest time of a push is that of one which waited for no other,
// and what a push takes beyond it is its waiting.
//
//   an answer                       count + waiting / count - the part of its time that the push waited, + 1 at most
//   after the first refusal         + 1 at most for each round of `count` answers
//   429, 502, 503, 504, no answer   half, once for all pushes in flight
//
// So the count comes to rest where `waiting` pushes wait, beside those that the service and the way to it hold:
//
//   30 pushes a second, 33 ms for one alone      7      the same, 50 ms away     9
//   250 pushes a second, 4 ms for one alone      7      the same, 50 ms away    23

const waiting = 6;
/** Times differ: a push that takes so many times the lowest time did not wait. */
const spread = 1.25;
const countAtFirst = 4;

export class Lanes {
  readonly #most: number;
  #count: number;
  #lowestMs = Infinity;
  #halvedAt = -Infinity;

  constructor(most: number) {
    this.#most = most;
    this.#count = Math.min(countAtFirst, most);
  }

  get count(): number {
    return Math.floor(this.#count);
  }

  /** Pushes of another kind take other times. */
  changeKind(): void {
    this.#lowestMs = Infinity;
  }

  /** `isBusy`: each lane had a push. If not, the answer says nothing about more lanes. */
  answered(tookMs: number, isBusy: boolean): void {
    this.#lowestMs = Math.min(this.#lowestMs, tookMs);
    const waited = tookMs > 0 ? Math.max(1 - (spread * this.#lowestMs) / tookMs, 0) : 0;
    const wasRefused = this.#halvedAt > -Infinity;
    const most = wasRefused ? 1 / this.#count : 1;
    this.#add(Math.min(waiting / this.#count - waited, isBusy ? most : 0));
  }

  /** An attempt that began at `sentAt` was refused, or got no answer. */
  refused(sentAt: number, now: number): void {
    if (sentAt < this.#halvedAt) return;
    this.#halvedAt = now;
    this.#add(-this.#count / 2);
  }

  #add(change: number): void {
    this.#count = Math.max(1, Math.min(this.#count + change, this.#most));
  }
}
