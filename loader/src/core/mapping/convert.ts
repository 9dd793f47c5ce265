// Converts the cell of a column to the value of a field. An empty cell does not change the field of the record, or clears it
// (`emptyClears`).
import { platform } from '#platform';
import type { FieldType } from '../kinds.ts';
import { isNone, readDate, type DateFormat } from './dates.ts';
import { eitherDecimal, readNumber, type DecimalSign } from './numbers.ts';

export type Cell = string | number | boolean | Date | null | undefined | object;

/** Stands for the id of a row that names a record, but whose id cannot be read. No record has this id. */
export const unreadableId = ' ';

/** Why a cell or a row cannot be converted. */
export class Wrong {
  readonly reason: string;
  /** The id of the rejected row, which prune does not archive; empty if the row names no record. */
  readonly id: string;

  constructor(reason: string, id?: unknown) {
    this.reason = reason;
    this.id = typeof id === 'string' ? id : unreadableId;
  }
}

/** A number of a workbook whose number format shows another text, such as "0007" for 7. */
export class Shown {
  readonly value: number;
  /** The text that the format shows; undefined if the loader cannot compute it. */
  readonly text: string | undefined;
  readonly format: string;

  constructor(value: number, text: string | undefined, format: string) {
    this.value = value;
    this.text = text;
    this.format = format;
  }
}

export interface Conversion {
  /** The decimal sign; undefined if no number in the first rows shows it. */
  decimal: DecimalSign | undefined;
  dates: DateFormat | undefined;
  /** The separator of the entries of a list. */
  lists: string | undefined;
  trueWords: ReadonlySet<string>;
  falseWords: ReadonlySet<string>;
  emptyClears: boolean;
  trim: boolean;
  /** Whether ids are trimmed: true unless a map says no. Otherwise an invisible blank would make a second record. */
  trimIds: boolean;
}

export type Convert = (cell: Cell) => unknown;

/** The function that converts cells of a type. It returns undefined if the item must not have the field. */
export function converterOf(type: FieldType, conversion: Conversion): Convert {
  const convert = convertersOf[type](conversion);
  const empty = conversion.emptyClears ? null : undefined;
  return (given) => {
    // Some systems write ="0012", so that a spreadsheet keeps the zeros: the cell is 0012.
    const isKept = typeof given === 'string' && given[0] === '=';
    const cell = isKept ? given.replace(/^="(.*)"$/s, '$1') : given;
    if (cell === '' || cell === null || cell === undefined) return empty;
    if (cell instanceof Wrong) return cell;
    const isNested = typeof cell === 'object' && !(cell instanceof Date || cell instanceof Shown);
    if (isNested && !(type === 'list' && Array.isArray(cell)))
      return new Wrong(`${quote(textOf(cell))} is no single value`);
    return convert(cell);
  };
}

/**
 * Invisible characters that come with copied texts, and that are removed. Other invisible characters are kept, because emoji and
 * Persian words need them.
 */
const unseen = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]/g;

const convertersOf: Readonly<Record<FieldType, (how: Conversion) => (cell: NonNullable<Cell>) => unknown>> = {
  text:
    ({ trim }) =>
    (cell) =>
      lostDigits(cell) ?? (trim ? textOf(cell).trim() : textOf(cell)),

  /** An id must be a whole number or a text: Excel may show 4711 for a cell that contains 4711.5. */
  id:
    ({ trimIds }) =>
    (cell) => {
      if (typeof cell === 'string')
        return lostDigits(cell) ?? (trimIds ? cell.replaceAll(unseen, '').trim() : cell);
      if (cell instanceof Date) return new Wrong(`${textOf(cell)} is a day, and no id: make the column text`);
      const value = cell instanceof Shown ? cell.value : cell;
      if (typeof value === 'number' && !Number.isInteger(value))
        return new Wrong(`${value} is a number with a fraction, and no id`);
      if (cell instanceof Shown && cell.text === undefined)
        return new Wrong(`${cell.value} is shown by the format ${cell.format}: make the column text`);
      return lostDigits(value) ?? textOf(cell);
    },

  amount:
    ({ decimal }) =>
    (cell) => {
      if (typeof cell === 'number' && Number.isFinite(cell)) return cell;
      if (cell instanceof Shown) return cell.value;
      const text = textOf(cell).trim();
      if (decimal === undefined && eitherDecimal.test(text))
        return new Wrong(`${quote(text)} can be thousands or a fraction: ${platform.advice.decimal}`);
      const sign = decimal ?? '.';
      return (
        readNumber(text, sign) ?? new Wrong(`${quote(text)} is no number with a decimal ${signName[sign]}`)
      );
    },

  date: ({ dates, emptyClears }) =>
    remembering((cell) => {
      if (cell instanceof Date) return cell.toISOString().slice(0, 10);
      const text = textOf(cell).trim();
      // A date of zeros counts as empty, because SAP writes zeros for a missing date.
      if (isNone(text)) return emptyClears ? null : undefined;
      return (
        readDate(text, dates) ?? new Wrong(`${quote(text)} is no date as ${dates?.text ?? 'YYYY-MM-DD'}`)
      );
    }),

  flag:
    ({ trueWords, falseWords }) =>
    (cell) => {
      if (typeof cell === 'boolean') return cell;
      const word = textOf(cell).trim().toLowerCase();
      if (trueWords.has(word)) return true;
      if (falseWords.has(word)) return false;
      return new Wrong(`${quote(word)} is neither true nor false: name it in the map`);
    },

  list:
    ({ lists }) =>
    (cell) => {
      if (Array.isArray(cell)) return cell;
      const text = textOf(cell);
      const parts = text.split(lists ?? (/[;|]/.test(text) ? /[;|]/ : ','));
      return parts.map((part) => part.trim()).filter((part) => part !== '');
    },
};

/**
 * The error for an id that has lost digits. Excel and JavaScript keep 15 digits of a number, and Excel writes a long number to
 * CSV as 1.23457E+12.
 */
function lostDigits(cell: NonNullable<Cell>): Wrong | undefined {
  if (typeof cell === 'number' && Math.abs(cell) >= 1e15)
    return new Wrong(`${cell} has more than 15 digits, which Excel does not keep: make the column text`);
  return typeof cell === 'string' && /^\d(?:[.,]\d+)?E\+\d\d$/.test(cell)
    ? new Wrong(`"${cell}" is a shortened number: make the column text`)
    : undefined;
}

const rememberedMax = 4_000;
/** Longer texts are not cached: such a text may be a slice of a large text, which the cache would then keep in memory. */
const rememberedCharactersMax = 12;

/** Caches the conversions of cells, because a file has few different days, and many rows with each day. */
function remembering(convert: (cell: NonNullable<Cell>) => unknown): (cell: NonNullable<Cell>) => unknown {
  const known = new Map<string, unknown>();
  return (cell) => {
    if (typeof cell !== 'string' || cell.length > rememberedCharactersMax) return convert(cell);
    const found = known.get(cell);
    if (found !== undefined) return found;
    if (known.size >= rememberedMax) known.clear();
    const value = convert(cell);
    known.set(cell, value);
    return value;
  };
}

const signName: Readonly<Record<DecimalSign, string>> = { ',': 'comma', '.': 'point' };

/** Converts a cell of any type to the text that a CSV file would have. */
export function textOf(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  if (cell instanceof Wrong) return '';
  if (cell instanceof Shown) return cell.text ?? String(cell.value);
  if (cell instanceof Date) {
    const text = cell.toISOString();
    return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text;
  }
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
}

const quote = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
