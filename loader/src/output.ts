// What a command says: results on standard output, all else on standard error, and a line that shows how far it is.

export interface Streams {
  out(text: string): void | Promise<void>;
  err(text: string): void;
  /** Whether standard error is a terminal. */
  isTerminal: boolean;
}

const redrawMs = 200;

/** A line that is written over and over; nothing where no terminal shows it. */
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

  /** Before anything else is written. */
  clear(): void {
    if (this.#width > 0) this.#streams.err(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

/** 1,250,000. The platform's own way loads its tables of all languages first, which takes a tenth of a second. */
export const count = (number: number): string => String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
