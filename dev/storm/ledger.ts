// The ledger of a storm: append-only files of JSON lines, one writer each. A line is in the file before what it
// announces is done, so that a writer that is cut off has said what it was about to do.
import { closeSync, createReadStream, existsSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { LedgerLines } from './lines.ts';

export type LedgerName = keyof LedgerLines;

export interface LedgerFile<Line> extends Disposable {
  write(line: Line): void;
}

export const pathOf = (folder: string, name: LedgerName): string => join(folder, 'ledger', `${name}.jsonl`);

export function openLedgerFile<Name extends LedgerName>(
  folder: string,
  name: Name,
): LedgerFile<LedgerLines[Name]> {
  mkdirSync(join(folder, 'ledger'), { recursive: true });
  const file = openSync(pathOf(folder, name), 'a');
  return {
    write: (line) => void writeSync(file, `${JSON.stringify(line)}\n`),
    [Symbol.dispose]: () => closeSync(file),
  };
}

export async function readLedger<Name extends LedgerName>(
  folder: string,
  name: Name,
): Promise<LedgerLines[Name][]> {
  if (!existsSync(pathOf(folder, name))) return [];
  const lines: LedgerLines[Name][] = [];
  const input = createReadStream(pathOf(folder, name));
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    const line: LedgerLines[Name] | undefined = parse(text);
    if (line !== undefined) lines.push(line);
  }
  return lines;
}

/** The last line of a writer that was cut off may be half of one. */
function parse(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
