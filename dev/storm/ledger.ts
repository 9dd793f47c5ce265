// The ledger of a storm: append-only files of JSON lines. Each file but `notes` and `asks` has a single writer. A line is in the file
// before the announced action is done, so that the ledger has the actions of a writer that is cut off.
import { closeSync, createReadStream, existsSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { noLines, type LedgerName, type Lines } from './lines.ts';

/** The clock of the ledger: every process of the machine shares it, and no adjustment of the date moves it. */
export const clockMs = (): number => Math.round(Number(process.hrtime.bigint()) / 1e3) / 1e3;

export interface LedgerFile<Line> extends Disposable {
  write(line: Line): void;
}

const pathOf = (folder: string, name: LedgerName): string => join(folder, 'ledger', `${name}.jsonl`);

export function openLedgerFile<Name extends LedgerName>(
  folder: string,
  name: Name,
): LedgerFile<Lines[Name][number]> {
  mkdirSync(join(folder, 'ledger'), { recursive: true });
  const file = openSync(pathOf(folder, name), 'a');
  return {
    write: (line) => void writeSync(file, `${JSON.stringify(line)}\n`),
    [Symbol.dispose]: () => closeSync(file),
  };
}

export async function readLedger<Name extends LedgerName>(folder: string, name: Name): Promise<Lines[Name]> {
  const lines: Lines[Name] = [];
  if (!existsSync(pathOf(folder, name))) return lines;
  const input = createReadStream(pathOf(folder, name));
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    const line = parse(text);
    if (line !== undefined) lines.push(line);
  }
  return lines;
}

/** The last line of a writer that was cut off may be incomplete. */
function parse(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export async function readWhole(folder: string): Promise<Lines> {
  const lines = noLines();
  const names = Object.keys(lines).filter((name): name is LedgerName => name in lines);
  const read = names.map(async (name) => [name, await readLedger(folder, name)] as const);
  return Object.assign(lines, Object.fromEntries(await Promise.all(read)));
}
