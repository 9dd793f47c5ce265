// What the reader of each file format returns: numbered rows, each an item or the reason why it is none.
import { platform } from '#platform';
import type { Kind } from '@integration-sync/client';
import type { Cell, Wrong } from '../mapping/convert.ts';
import type { Item } from '../mapping/items.ts';
import type { Rules } from '../mapping/map.ts';

/** The path that stands for standard input. */
export const standardInput = '-';

export type Format = 'csv' | 'ndjson' | 'json' | 'xlsx';

export interface Input {
  /** `-` is standard input. */
  path: string;
  kind: Kind;
  format: Format;
  sheet: string | undefined;
  rules: Rules;
}

/** The name of the file, and of its sheet, for messages. */
export const placeOf = ({ path, sheet }: Pick<Input, 'path' | 'sheet'>): string =>
  (path === '-' ? 'standard input' : shortened(path)) + (sheet === undefined ? '' : `, sheet "${sheet}"`);

/** Of a file whose hash is another one than that with which its load began. */
export const changed = (path: string): string => `${path} is not what it was when the load began`;

/** Relative to the current folder, if the file is in it. */
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
  /** How many rows are above the first one, as a title and the header are. */
  rowsBefore: number;
  /** Messages about what was found in the file, such as its encoding. */
  notes: readonly string[];
  /** Whether it has the columns `#row` and `#reason`, as rejected rows of a load. */
  isRejects: boolean;
  /** Makes the item of a row again: items in flight are not kept in memory. */
  make(raw: unknown): Item | Wrong;
  /** The rows in batches, without empty rows. */
  rows(): AsyncGenerator<Row[], void, undefined>;
  rejects: RejectsForm;
  /** The column of each field whose cells are converted, for messages. Empty where items are sent as they are. */
  columns: ReadonlyMap<string, string>;
}

/** What was found in a file, before anything is converted. */
export interface TableLook {
  /** Undefined where the format says it. */
  encoding: string | undefined;
  /** Undefined where cells are not between delimiters. */
  delimiter: string | undefined;
  /** The number of the row with the header; 0 if the file has none. */
  headerRow: number;
  rows: number | undefined;
  header: readonly string[];
  /** The first rows, as cells. */
  sample: readonly (readonly Cell[])[];
}

/** A file after a first pass over all of it. */
export interface Looked {
  look: TableLook;
  /** Throws where its columns are not those that a load needs. */
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
