// The texts that cells of a workbook share (shared strings), in one buffer: as strings they would take three times the memory.
import { platform } from '#platform';
import { Stop } from '../exit.ts';

const encoder = new TextEncoder();
const bytesMax = 128 * 1024 * 1024;

export class Texts {
  #bytes = new Uint8Array(64 * 1024);
  readonly #ends: number[] = [];
  #length = 0;

  add(text: string): void {
    // A UTF-16 code unit takes three bytes of UTF-8 at most.
    const most = this.#length + 3 * text.length;
    if (most > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(most, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
    if (this.#length > bytesMax)
      throw new Stop('The workbook has more than 128 MiB of texts: save the sheet as CSV.');
    this.#ends.push(this.#length);
  }

  /** The length of a shared text in bytes; undefined if there is no text with this index. */
  bytesOf(index: number): number | undefined {
    const end = this.#ends[index];
    return end === undefined ? undefined : end - (this.#ends[index - 1] ?? 0);
  }

  at(index: number): string | undefined {
    const end = this.#ends[index];
    return end === undefined ? undefined : platform.utf8(this.#bytes, this.#ends[index - 1] ?? 0, end);
  }
}
