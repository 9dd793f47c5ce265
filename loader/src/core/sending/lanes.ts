// Decides how many pushes are in flight. The service must always have work, but few pushes should wait there. The rule is a
// gradient, as in Netflix' concurrency-limits after TCP Vegas. The shortest time of a push is that of a push without waiting;
// longer times are due to waiting.
//
//   an answer                       count + waiting / count - the part of the push's time that was waiting, + 1 at most
//   an answer after a refusal       + 1 at most for each round of `count` answers
//   429, 502, 503, 504, no answer   half the count, once for all pushes in flight
//
// So the count becomes stable once `waiting` pushes wait for their turn at the service, besides the pushes that the service
// processes and the network transfers. Examples:
//
//   30 pushes a second, 33 ms for a push without waiting    7      with 50 ms of network time     9
//   250 pushes a second, 4 ms for a push without waiting    7      with 50 ms of network time    23

const waiting = 6;
/** Times of pushes vary: a push that takes up to this multiple of the shortest time counts as a push without waiting. */
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

  /** Forgets the shortest time, because pushes of another kind of record take other times. */
  changeKind(): void {
    this.#lowestMs = Infinity;
  }

  /**
   * Adapts the count to an answer. `isBusy`: as many pushes as allowed were in flight. If not, the answer does not show whether
   * a greater count would help.
   */
  answered(tookMs: number, isBusy: boolean): void {
    this.#lowestMs = Math.min(this.#lowestMs, tookMs);
    const waited = tookMs > 0 ? Math.max(1 - (spread * this.#lowestMs) / tookMs, 0) : 0;
    const wasRefused = this.#halvedAt > -Infinity;
    const most = wasRefused ? 1 / this.#count : 1;
    this.#add(Math.min(waiting / this.#count - waited, isBusy ? most : 0));
  }

  /** Halves the count, because an attempt that began at `sentAt` was refused, or got no answer. */
  refused(sentAt: number, now: number): void {
    if (sentAt < this.#halvedAt) return;
    this.#halvedAt = now;
    this.#add(-this.#count / 2);
  }

  #add(change: number): void {
    this.#count = Math.max(1, Math.min(this.#count + change, this.#most));
  }
}
