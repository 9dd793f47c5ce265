// A map (--map): the kind of records in each file or sheet, the field of each column, and how cells are to be read.
import type { Kind } from '@integration-sync/client';
import { messageOf, Stop } from '../exit.ts';
import { isKind, kinds } from '../kinds.ts';
import type { Columns } from './columns.ts';
import { dateFormat } from './dates.ts';
import { nearest } from './nearest.ts';

/** The rules of a map for a file or sheet. Each rule is optional. */
export interface Rules {
  kind?: Kind;
  columns?: Columns;
  /** How many rows are before the first row of data, if columns are named by position. */
  skip?: number;
  /** Replacements of whole cells: in country, unit and category, or in the named field. */
  values?: Values;
  constants?: Record<string, unknown>;
  encoding?: string;
  delimiter?: string;
  /** Whether quotes enclose cells; false if they are ordinary characters. */
  quotes?: boolean;
  decimal?: ',' | '.';
  dates?: string;
  lists?: string;
  true?: string[];
  false?: string[];
  emptyClears?: boolean;
  trim?: boolean;
}

export type Values = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** A map: its rules by file name, in which `*` means any characters, or by `file.xlsx#Sheet`. */
export type LoadMap = ReadonlyMap<string, Rules>;

const isText = (value: unknown): boolean => typeof value === 'string';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Rule {
  expected: string;
  holds: (value: unknown) => boolean;
}

const flag: Rule = { expected: 'true or false', holds: (value) => typeof value === 'boolean' };
const words: Rule = { expected: 'an array of words', holds: isTexts };

const rules: Readonly<Record<keyof Rules, Rule>> = {
  kind: { expected: kinds.join(', '), holds: (value) => typeof value === 'string' && isKind(value) },
  columns: {
    expected: 'an object of column names, each with a field or null, or an array of these',
    holds: (value) =>
      (isObject(value) || Array.isArray(value)) &&
      Object.values(value).every((one) => one === null || isText(one)),
  },
  skip: {
    expected: 'a number of rows from 0 to 1000',
    holds: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1_000,
  },
  values: {
    expected:
      'an object of values, each with the value that stands for it, or of fields, each with such an object',
    holds: (value) =>
      isObject(value) &&
      Object.values(value).every((one) => isText(one) || (isObject(one) && Object.values(one).every(isText))),
  },
  constants: { expected: 'an object of fields with their values', holds: isObject },
  encoding: { expected: 'a name such as "windows-1252"', holds: isText },
  delimiter: { expected: 'one character', holds: (value) => typeof value === 'string' && value.length === 1 },
  quotes: flag,
  decimal: { expected: '"," or "."', holds: (value) => value === ',' || value === '.' },
  dates: {
    expected: 'a format such as "DD.MM.YYYY"',
    holds: (value) => typeof value === 'string' && dateFormat(value) !== undefined,
  },
  lists: {
    expected: 'what stands between entries, such as ","',
    holds: (value) => isText(value) && value !== '',
  },
  true: words,
  false: words,
  emptyClears: flag,
  trim: flag,
};

/** Reads a map from its file, whose content must be JSON. */
export function readMap(text: string, file: string): LoadMap {
  try {
    return parseMap(JSON.parse(text), file);
  } catch (error) {
    if (error instanceof Stop) throw error;
    throw new Stop(`The map ${file} is no JSON: ${messageOf(error)}`, undefined, { cause: error });
  }
}

export const unreadableMap = (file: string, cause: unknown): Stop =>
  new Stop(`The map ${file} cannot be read: ${messageOf(cause)}`);

export function parseMap(json: unknown, file: string): LoadMap {
  if (!isObject(json)) throw new Stop(`The map ${file} is no object of file names.`);
  const map = new Map<string, Rules>();
  for (const [name, said] of Object.entries(json)) {
    if (!isObject(said)) throw new Stop(`The map ${file}: "${name}" is no object of rules.`);
    for (const [key, value] of Object.entries(said)) {
      const rule = Object.entries(rules).find(([known]) => known === key)?.[1];
      if (rule === undefined) {
        const [near] = nearest(key, Object.keys(rules), 1);
        throw new Stop(
          `The map ${file} has "${key}" for "${name}", which is none of ${Object.keys(rules).join(', ')}${near === undefined ? '' : `: the nearest is "${near}"`}.`,
        );
      }
      if (!rule.holds(value)) {
        throw new Stop(`The map ${file}: "${key}" of "${name}" is not ${rule.expected}.`);
      }
    }
    map.set(name, said);
  }
  return map;
}

/** The rules for a file or sheet: those of the first name in the map that matches it. */
export function rulesFor(map: LoadMap, name: string, sheet?: string): Rules | undefined {
  // The name of a file or a sheet may have a `#` as well.
  const ofSheet = `#${sheet}`;
  for (const [pattern, said] of map) {
    if (fits(pattern, name)) return said;
    if (sheet !== undefined && pattern.endsWith(ofSheet) && fits(pattern.slice(0, -ofSheet.length), name))
      return said;
  }
  return undefined;
}

function fits(pattern: string, name: string): boolean {
  const parts = pattern.toLowerCase().split('*');
  const [first = '', ...others] = parts;
  let rest = name.toLowerCase();
  if (!rest.startsWith(first)) return false;
  rest = rest.slice(first.length);
  for (const [index, part] of others.entries()) {
    const isLast = index === others.length - 1;
    const at = isLast ? rest.length - part.length : rest.indexOf(part);
    if (at < 0 || rest.slice(at, at + part.length) !== part) return false;
    rest = rest.slice(at + part.length);
  }
  return rest === '';
}
