// Rejected rows as CSV, with two more columns: row number and reason.
import { reasonColumn, rowColumn } from '../kinds.ts';
import { textOf } from '../mapping/convert.ts';
import { parseRecords } from './csv.ts';
import { encode } from './encodings.ts';
import type { RejectsForm } from './source.ts';

export interface CsvRejects {
  delimiter: string;
  encoding: string;
  hasBom: boolean;
  quotes: boolean;
}

export function csvRejects(header: readonly string[], how: CsvRejects): RejectsForm {
  const { delimiter, encoding, hasBom, quotes } = how;
  // A file of rejects that is loaded again has these columns already.
  const kept = header.flatMap((column, index) =>
    column === rowColumn || column === reasonColumn ? [] : [index],
  );
  const cell = (text: string): string =>
    quotes && (text.includes(delimiter) || /["\r\n]/.test(text)) ? `"${text.replaceAll('"', '""')}"` : text;
  const line = (cells: readonly string[]): string => `${cells.map(cell).join(delimiter)}\r\n`;
  const form = { delimiter: delimiter.charCodeAt(0), quotes };
  const columns = kept.map((index) => header[index] ?? '');
  return {
    extension: delimiter === '\t' ? '.tsv' : '.csv',
    head: encode((hasBom ? '\ufeff' : '') + line([...columns, rowColumn, reasonColumn]), encoding),
    line({ raw, number }, reason) {
      const cells = typeof raw === 'string' ? (parseRecords(raw, form)[0] ?? []) : textsOf(raw);
      // Cells beyond the header are written after the reason, so that a person sees them.
      const more = cells.slice(header.length);
      const own = kept.map((index) => cells[index] ?? '');
      const plain = quotes ? reason : reason.replaceAll(delimiter, ' ');
      return encode(line([...own, String(number), plain, ...more]), encoding);
    },
  };
}

/** The cells of a row of a workbook as texts. */
const textsOf = (raw: unknown): string[] => (Array.isArray(raw) ? Array.from(raw, textOf) : []);
