// Reads a file of the ledger while another process writes it: each time, the lines that have come since.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { pathOf, type LedgerName } from './ledger.ts';
import type { LedgerLines } from './lines.ts';

export function followLedger<Name extends LedgerName>(folder: string, name: Name): () => LedgerLines[Name][] {
  let offset = 0;
  let rest = '';
  const chunk = Buffer.alloc(1024 * 1024);
  return () => {
    if (!existsSync(pathOf(folder, name))) return [];
    const file = openSync(pathOf(folder, name), 'r');
    try {
      for (;;) {
        const read = readSync(file, chunk, 0, chunk.length, offset);
        if (read === 0) break;
        offset += read;
        rest += chunk.toString('latin1', 0, read);
      }
    } finally {
      closeSync(file);
    }
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    return lines.map((line): LedgerLines[Name] => JSON.parse(Buffer.from(line, 'latin1').toString()));
  };
}
