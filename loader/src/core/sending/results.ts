// The results of all rows, as CSV (--results).
import { guarded } from '../reading/formulas.ts';
import type { Slot } from './slots.ts';

export const resultsHead = 'file,row,externalId,internalId,status\r\n';

export function resultsLine(
  name: string,
  { row, id, internalId, status }: Pick<Slot, 'row' | 'id' | 'internalId' | 'status'>,
): string {
  const cells = [name, String(row), id, internalId, status ?? ''];
  return `${cells.map(quoted).join(',')}\r\n`;
}

function quoted(unsafe: string): string {
  const text = guarded(unsafe);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
