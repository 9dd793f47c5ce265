// The chunks of a body as they come in, and the memory that they take. Most bodies come in a few large chunks, which
// are kept as they are. Each chunk costs some hundred bytes beside its content, so many small chunks are copied into
// pages. A large body of known length is copied into one buffer while its chunks come, because joining them at the end
// would need the memory twice.

/** How many chunks of a body are kept uncopied, however small they are. Further small chunks are copied into pages. */
const uncopiedChunksMax = 64;
/** A chunk of this size or more is never copied into a page. */
const largeBytes = 1_024;
const pageBytes = 64 * 1_024;
/** The memory that a buffer takes beside its bytes. */
const objectBytes = 512;

export class BodyBuffer {
  readonly #kept: Buffer[] = [];
  #whole: Buffer | undefined;
  #page: Buffer | undefined;
  /** The begin and end of the part of the page that is written, but not yet among the kept chunks. */
  #from = 0;
  #to = 0;
  #bytes = 0;
  #heldBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** How much memory the body takes, which is more than its bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get chunkCount(): number {
    return this.#kept.length;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#whole !== undefined) {
      chunk.copy(this.#whole, this.#bytes - chunk.length);
    } else if (chunk.length < largeBytes && this.#kept.length >= uncopiedChunksMax) {
      this.#copy(chunk);
    } else {
      this.#closePage();
      this.#keep(chunk);
      this.#heldBytes += chunk.length;
    }
  }

  /** From now on, all chunks are in one buffer of `bytes`, the length of the whole body. */
  expect(bytes: number): void {
    if (this.#whole !== undefined) return;
    this.#closePage();
    const whole = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    for (const chunk of this.#kept) at += chunk.copy(whole, at);
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

  #keep(chunk: Buffer): void {
    this.#kept.push(chunk);
    this.#heldBytes += objectBytes;
  }

  #copy(chunk: Buffer): void {
    if (this.#page === undefined || this.#to + chunk.length > this.#page.length) {
      this.#closePage();
      this.#page = Buffer.allocUnsafeSlow(pageBytes);
      this.#heldBytes += pageBytes;
      this.#from = 0;
      this.#to = 0;
    }
    this.#to += chunk.copy(this.#page, this.#to);
  }

  #closePage(): void {
    if (this.#page !== undefined && this.#to > this.#from)
      this.#keep(this.#page.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}
