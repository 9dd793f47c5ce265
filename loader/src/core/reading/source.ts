// The result of the reader of each file format: numbered rows, each with an item, or with the reason why it cannot be converted.
import { platform } from '#platform';
import type { Kind } from '@integration-sync/client';
import type { Cell, Wrong } from '../mapping/convert.ts';
import type { Item } from '../mapping/items.ts';
import type { Rules } from '../mapping/map.ts';

/** The path that stands for standard input. */
export const standardInput = '-';

export type Format = 'csv' | 'ndjson' | 'json' | 'xlsx';

export interface Input {
  /** The path of the file; `-` stands for standard input. */
  path: string;
  kind: Kind;
  format: Format;
  sheet: string | undefined;
  rules: Rules;
}

/** The name of the file, and of its sheet, for messages. */
export const placeOf = ({ path, sheet }: Pick<Input, 'path' | 'sheet'>): string =>
  (path === '-' ? 'standard input' : shortened(path)) + (sheet === undefined ? '' : `, sheet "${sheet}"`);

/** The message for a file whose hash has changed since its load began. */
export const changed = (path: string): string => `${path} has changed since the load began`;

/** The path of a file in messages: relative to the current folder if the file is in that folder. */
export const shortened = (path: string): string => platform.shown(path);

export interface Row {
  /** The number of the row as a spreadsheet counts: the first is 1, and the header counts. */
  number: number;
  made: Item | Wrong;
  /** The row as it is in the file: a text, or the cells of a workbook. */
  raw: unknown;
}

/** A file whose format is known, and that can be read. */
export interface Source {
  input: Input;
  /** How many rows the file has, including blank ones; undefined for long standard input. */
  total: number | undefined;
  /** How many rows, such as a title and the header, are before the first row of data. */
  rowsBefore: number;
  /** Messages about what was found in the file, such as its encoding. */
  notes: readonly string[];
  /** Whether the file has the columns `#row` and `#reason`: it has the rejected rows of a load. */
  isRejects: boolean;
  /** Converts the raw row to its item again, because items of pushes in flight are not kept in memory. */
  make(raw: unknown): Item | Wrong;
  /** The rows in batches, without empty rows. */
  rows(): AsyncGenerator<Row[], void, undefined>;
  rejects: RejectsForm;
  /** The column of each field whose cells are converted, for messages. Empty if items are sent unchanged. */
  columns: ReadonlyMap<string, string>;
}

/** What the first pass found in a file, before the conversion of cells. */
export interface TableLook {
  /** The encoding; undefined if the file format determines it. */
  encoding: string | undefined;
  /** The delimiter; undefined for a format without delimiters. */
  delimiter: string | undefined;
  /** The number of the row with the header; 0 if the file has none. */
  headerRow: number;
  rows: number | undefined;
  header: readonly string[];
  /** The cells of the first rows of the file. */
  sample: readonly (readonly Cell[])[];
}

/** A file after the first pass, which has read the whole file. */
export interface Looked {
  look: TableLook;
  /** Opens the file for a load. Throws if the file lacks columns that a load needs. */
  open(): Source | Promise<Source>;
}

/** How rejected rows are written: in the format of their input file. */
export interface RejectsForm {
  /** The extension of the file name, with its dot. */
  extension: string;
  head: Uint8Array;
  /** The bytes of a rejected row, with its number and the reason. */
  line(row: Pick<Row, 'raw' | 'number'>, reason: string): Uint8Array;
}
