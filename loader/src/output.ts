// The output of a command: results on standard output, messages and a line of progress on standard error.

export interface Streams {
  /** If nobody reads the output, the command ends with code 0, unless it ends by itself after this text (`isLast`). */
  out(text: string, isLast?: boolean): void | Promise<void>;
  err(text: string): void;
  /** Whether standard error is a terminal. */
  isTerminal: boolean;
  /** How many characters a line of the terminal has; 80 by default. */
  columns?(): number;
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

  /** Shows as many of the parts as fit in a line. Each update of a longer line would leave a copy of the line on the terminal. */
  show(partsOf: () => readonly string[]): void {
    const now = performance.now();
    if (!this.#streams.isTerminal || now - this.#drawnAt < redrawMs) return;
    this.#drawnAt = now;
    const line = fitting(partsOf(), (this.#streams.columns?.() ?? 80) - 1);
    this.#streams.err(`\r${line.padEnd(this.#width)}`);
    this.#width = line.length;
  }

  /** Removes the line of progress. To be called before any other output is written. */
  clear(): void {
    if (this.#width > 0) this.#streams.err(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

function fitting(parts: readonly string[], charactersMax: number): string {
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? part : `${line}, ${part}`;
    if (longer.length > charactersMax) break;
    line = longer;
  }
  return line;
}
