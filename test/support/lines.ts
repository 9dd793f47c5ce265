// The lines that a process writes.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export interface Lines {
  readonly lines: readonly string[];
  /** Resolves with a line for which `is` holds, among those after the first `from`; rejects once the process has ended. */
  readonly said: (is: (line: string) => boolean, from?: number) => Promise<string>;
}

/** `ended` resolves with what an error says of the end of the process. */
export function readLines(input: Readable, ended: Promise<string>): Lines {
  const lines: string[] = [];
  const reading = createInterface({ input }).on('line', (line) => lines.push(line));
  const died = ended.then((how) => Promise.reject(new Error(how)));
  died.catch(() => undefined);
  return {
    lines,
    said: async (is, from = 0) => {
      for (;;) {
        const found = lines.slice(from).find(is);
        if (found !== undefined) return found;
        await Promise.race([once(reading, 'line'), died]);
      }
    },
  };
}
