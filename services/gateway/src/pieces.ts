// The pieces of a body as they come in, and what holding them costs. Most bodies come in a few large pieces, which are
// kept as they are. A body cut into single bytes would be one object of some hundred bytes for each of them, so that
// small pieces, once there are many, are copied together into pages. A large body whose length is known is put together
// while it comes, so that at its end it does not stand in memory twice.

/** So many pieces are kept as they come, however small. */
const keptAsTheyComeCount = 64;
/** A piece of this size is worth an object of its own. */
const largeBytes = 1_024;
const pageBytes = 64 * 1_024;
/** What a buffer takes beside its bytes. */
const objectBytes = 512;

export class Pieces {
  readonly #kept: Buffer[] = [];
  #whole: Buffer | undefined;
  #page: Buffer | undefined;
  /** Of the page, what has been written and is not yet among those kept. */
  #from = 0;
  #to = 0;
  #bytes = 0;
  #heldBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** What they take in memory, which is more than their bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get count(): number {
    return this.#kept.length;
  }

  /** Answers how much more is held now. */
  add(piece: Buffer): number {
    const before = this.#heldBytes;
    this.#bytes += piece.length;
    if (this.#whole !== undefined) {
      piece.copy(this.#whole, this.#bytes - piece.length);
    } else if (piece.length < largeBytes && this.#kept.length >= keptAsTheyComeCount) {
      this.#copy(piece);
    } else {
      this.#closePage();
      this.#keep(piece);
      this.#heldBytes += piece.length;
    }
    return this.#heldBytes - before;
  }

  /** From now on they are put together at once: they are so many bytes in all, and never more. */
  expect(bytes: number): void {
    this.#closePage();
    const whole = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    for (const piece of this.#kept) at += piece.copy(whole, at);
    this.#whole = whole;
    this.#kept.length = 0;
    this.#page = undefined;
    this.#heldBytes = bytes;
  }

  join(): Buffer {
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.#bytes);
    this.#closePage();
    return Buffer.concat(this.#kept, this.#bytes);
  }

  #keep(piece: Buffer): void {
    this.#kept.push(piece);
    this.#heldBytes += objectBytes;
  }

  #copy(piece: Buffer): void {
    if (this.#page === undefined || this.#to + piece.length > this.#page.length) {
      this.#closePage();
      this.#page = Buffer.allocUnsafeSlow(pageBytes);
      this.#heldBytes += pageBytes;
      this.#from = 0;
      this.#to = 0;
    }
    this.#to += piece.copy(this.#page, this.#to);
  }

  #closePage(): void {
    if (this.#page !== undefined && this.#to > this.#from)
      this.#keep(this.#page.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}
