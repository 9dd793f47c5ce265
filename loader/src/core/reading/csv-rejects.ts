// Rejected rows as CSV, with two more columns: row number and reason.
import { reasonColumn, rowColumn } from '../kinds.ts';
import { textOf } from '../mapping/convert.ts';
import { encode } from './encodings.ts';
import { guarded } from './formulas.ts';
import type { RejectsForm } from './source.ts';

export interface CsvRejects {
  delimiter: string;
  encoding: string;
  hasBom: boolean;
  quotes: boolean;
  /** The extension of the input file, which the file of rejected rows keeps because a map may name files by it. */
  extension?: string;
  /** Splits the text of a row into its cells. */
  cellsOf?: (text: string) => readonly string[];
  /** Whether each row begins and ends with a delimiter. Then the header has an empty cell at both ends. */
  isList?: boolean;
}

export function csvRejects(header: readonly string[], how: CsvRejects): RejectsForm {
  const { delimiter, encoding, hasBom, quotes, cellsOf = () => [], isList = false } = how;
  // The columns for row number and reason are left out, because a file of rejected rows that is loaded again already has them.
  const kept = header.flatMap((column, index) => {
    const isEdge = isList && (index === 0 || index === header.length - 1);
    return column === rowColumn || column === reasonColumn || isEdge ? [] : [index];
  });
  const cell = (unsafe: string): string => {
    const text = guarded(unsafe);
    return quotes && (text.includes(delimiter) || /["\r\n]/.test(text))
      ? `"${text.replaceAll('"', '""')}"`
      : text;
  };
  const line = (cells: readonly string[]): string => `${cells.map(cell).join(delimiter)}\r\n`;
  const columns = kept.map((index) => header[index] ?? '');
  return {
    extension: how.extension ?? '.csv',
    head: encode((hasBom ? '\ufeff' : '') + line([...columns, rowColumn, reasonColumn]), encoding),
    line({ raw, number }, reason) {
      const cells = typeof raw === 'string' ? cellsOf(raw) : textsOf(raw);
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
