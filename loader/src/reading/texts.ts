// The texts that cells of a workbook share (shared strings), in one buffer: as strings they would take three times the memory.
import { Stop } from '../exit.ts';

const bytesMax = 128 * 1024 * 1024;

export class Texts {
  #bytes = Buffer.allocUnsafeSlow(64 * 1024);
  readonly #ends: number[] = [];
  #length = 0;

  add(text: string): void {
    const end = this.#length + Buffer.byteLength(text);
    if (end > bytesMax) throw new Stop('The workbook has more than 128 MiB of texts: save the sheet as CSV.');
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * this.#bytes.length));
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    this.#bytes.write(text, this.#length);
    this.#length = end;
    this.#ends.push(end);
  }

  at(index: number): string | undefined {
    const end = this.#ends[index];
    return end === undefined ? undefined : this.#bytes.toString('utf8', this.#ends[index - 1] ?? 0, end);
  }
}
