// The output of a command: results on standard output, messages and a line of progress on standard error.

export interface Streams {
  out(text: string): void | Promise<void>;
  err(text: string): void;
  /** Whether standard error is a terminal. */
  isTerminal: boolean;
}

const redrawMs = 200;

/** A line of progress, which each update overwrites. Writes nothing if standard error is no terminal. */
export class Progress {
  readonly #streams: Streams;
  #drawnAt = 0;
  #width = 0;

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  show(text: () => string): void {
    const now = Date.now();
    if (!this.#streams.isTerminal || now - this.#drawnAt < redrawMs) return;
    this.#drawnAt = now;
    const line = text();
    this.#streams.err(`\r${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }

  /** Removes the line. To be called before any other output is written. */
  clear(): void {
    if (this.#width > 0) this.#streams.err(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

/** Formats a number as 1,250,000. `toLocaleString` first loads its tables of all languages, which takes 0.1 s. */
export function count(number: number): string {
  const digits = String(number);
  const first = digits.length % 3;
  const groups = digits.slice(first).match(/\d{3}/g) ?? [];
  return (first === 0 ? groups : [digits.slice(0, first), ...groups]).join(',');
}
