// What every sort of file becomes: rows with their numbers, each made into an item or known to be wrong.
import { relative } from 'node:path';
import type { Kind } from '@integration-sync/client';
import type { Wrong } from '../mapping/convert.ts';
import type { Item } from '../mapping/items.ts';
import type { Rules } from '../mapping/map.ts';

export type Format = 'csv' | 'ndjson' | 'json' | 'xlsx';

export interface Input {
  /** `-` is standard input. */
  path: string;
  kind: Kind;
  format: Format;
  sheet: string | undefined;
  rules: Rules;
}

/** For messages. */
export const placeOf = ({ path, sheet }: Pick<Input, 'path' | 'sheet'>): string =>
  (path === '-' ? 'standard input' : shortened(path)) + (sheet === undefined ? '' : `, sheet "${sheet}"`);

/** As its user has named it, if it is below the current folder. */
export const shortened = (path: string): string => {
  const below = relative('', path);
  return below.startsWith('..') ? path : below;
};

export interface Row {
  /** As a spreadsheet or an editor counts: the first is 1, the header among them. */
  number: number;
  made: Item | Wrong;
  /** As it came. */
  raw: unknown;
}

/** A file that was looked at, and can be read. */
export interface Source {
  input: Input;
  /** How many rows there are, blank ones among them; undefined of standard input. */
  total: number | undefined;
  /** What was found, for people. */
  notes: readonly string[];
  /** Once more the item of a row, which is not held while the row is under way. */
  make(raw: unknown): Item | Wrong;
  /** Empty rows are left out. */
  rows(): AsyncGenerator<Row[], void, undefined>;
  rejects: RejectsForm;
}

/** Rejects are a file like the one that came in. */
export interface RejectsForm {
  /** With the dot. */
  extension: string;
  head: Buffer;
  /** The row, its number and the reason. */
  line(row: Pick<Row, 'raw' | 'number'>, reason: string): Buffer;
}
