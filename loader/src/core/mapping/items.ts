// Makes the function that turns a row into an item, by the map, field types and the formats that the file has.
import { platform } from '#platform';
import type { Kind } from '@integration-sync/client';
import { Stop } from '../exit.ts';
import { fieldsOf, reasonColumn, rowColumn, type Field } from '../kinds.ts';
import type { Binding, Bindings } from './columns.ts';
import { converterOf, textOf, Wrong, type Cell, type Conversion } from './convert.ts';
import { dateFormat, findDates, isNone, losesTime, readDate, type DateFormat } from './dates.ts';
import type { Rules } from './map.ts';
import { namedColumn } from './nearest.ts';
import { findDecimals, type DecimalSign } from './numbers.ts';
import { replacing, standsFor } from './values.ts';

export type Item = Record<string, unknown>;

/** The id of a row; no string if the row has no valid id. */
export const idIn = (made: Item | Wrong): unknown => (made instanceof Wrong ? made.id : made['externalId']);

/** Converts a row. Returns the item, or the reason why the row cannot be converted. */
export type MakeItem<Row> = (row: Row) => Item | Wrong;

const words = {
  true: ['true', 'yes', 'y', 'ja', 'j', 'oui', 'si', 'sí', 'wahr', 'vrai', 'x', '1'],
  false: ['false', 'no', 'n', 'nein', 'non', 'falsch', 'faux', '-', '0'],
};

const conversionOf = (
  rules: Rules,
  decimal: Conversion['decimal'],
  dates: DateFormat | undefined,
): Conversion => ({
  decimal,
  dates,
  lists: rules.lists,
  trueWords: wordsOf(rules.true ?? words.true),
  falseWords: wordsOf(rules.false ?? words.false),
  emptyClears: rules.emptyClears ?? false,
  trim: rules.trim ?? false,
  trimIds: rules.trim ?? true,
});

const wordsOf = (given: readonly string[]): ReadonlySet<string> =>
  new Set(given.map((word) => word.toLowerCase()));

export interface Table {
  kind: Kind;
  bound: readonly Binding[];
  /** The columns whose texts form the externalId. */
  key?: Bindings['key'] | undefined;
  width: number;
  /** The first rows, which show how numbers and dates are written. */
  sample: readonly (readonly Cell[])[];
  /** The delimiter of cells; undefined if cells have types, as in Excel. */
  delimiter: string | undefined;
  where: string;
  /** Whether each row must have as many cells as the header, as in a list of SAP. */
  isExact?: boolean;
}

export interface Making {
  make: MakeItem<readonly Cell[]>;
  /** The found formats of numbers and dates, as messages such as `decimal comma, as in "12,5"`. */
  notes: string[];
}

export function itemsOfCells(table: Table, rules: Rules): Making {
  const notes: string[] = [];
  const fields: Readonly<Record<string, Field>> = fieldsOf[table.kind];
  const textsAt = (index: number): string[] =>
    table.sample.flatMap((row) => (typeof row[index] === 'string' ? [row[index].trim()] : []));
  const columns = table.bound.map(({ index, column, field }) => {
    const type = fields[field]?.type ?? 'text';
    const where = `${table.where}, column "${column}"`;
    const decimal = type === 'amount' ? decimalOf(textsAt(index), rules, table.delimiter, where, notes) : '.';
    const dates = type === 'date' ? datesOf(textsAt(index), rules, where, notes) : undefined;
    const convert = replacing(converterOf(type, conversionOf(rules, decimal, dates)), {
      kind: table.kind,
      field,
      type,
      rules,
    });
    const timed = type === 'date' ? table.sample.map((row) => row[index]).find(hasTime) : undefined;
    if (timed !== undefined) notes.push(withoutTime(textOf(timed)));
    const replaced = type === 'text' ? standsFor(textsAt(index), convert) : undefined;
    if (replaced !== undefined) notes.push(replaced);
    return { index, column, field, convert };
  });
  const constants = Object.entries(rules.constants ?? {});
  const idColumn = columns.find(({ field }) => field === 'externalId');
  const idOf =
    table.key === undefined ? undefined : keyReader(table.key, conversionOf(rules, '.', undefined));
  if (table.key !== undefined)
    notes.push(`externalId of ${table.key.map(({ column }) => `"${column}"`).join(', ')}`);

  const wrong = (row: readonly Cell[], reason: string): Wrong =>
    new Wrong(reason, (idOf === undefined ? idColumn?.convert(row[idColumn.index]) : idOf(row)) ?? '');

  const make = (row: readonly Cell[]): Item | Wrong => {
    if (table.isExact === true && row.length !== table.width)
      return wrong(
        row,
        `${row.length} cells where the header has ${table.width}: a cell has a line end or a "|"`,
      );
    if (row.length > table.width && row.slice(table.width).some((cell) => cell !== '' && cell !== null)) {
      return wrong(
        row,
        `${row.length} cells where the header has ${table.width}: ${table.delimiter === undefined ? 'name the columns of the others' : 'a cell with the delimiter needs quotes'}`,
      );
    }
    const item: Item = {};
    for (const { index, column, field, convert } of columns) {
      const value = convert(row[index]);
      if (value instanceof Wrong) return wrong(row, `${namedColumn(column, field)}: ${value.reason}`);
      if (value !== undefined) item[field] = value;
    }
    const id = idOf?.(row);
    if (id instanceof Wrong) return wrong(row, id.reason);
    if (id !== undefined && id !== '') item['externalId'] = id;
    for (const [field, value] of constants) item[field] ??= value;
    return item;
  };
  return { make, notes };
}

const withoutTime = (text: string): string => `days without their times, as in "${text}"`;

/** Whether a cell of a workbook is a day with a time. */
const hasTime = (cell: Cell): boolean => cell instanceof Date && cell.getTime() % 86_400_000 !== 0;

/** Reads the externalId from the non-empty cells of the key's columns. */
function keyReader(
  key: NonNullable<Bindings['key']>,
  conversion: Conversion,
): (row: readonly Cell[]) => string | Wrong {
  const convert = converterOf('id', { ...conversion, emptyClears: false });
  return (row) => {
    const parts: string[] = [];
    for (const { index, column } of key) {
      const value = convert(row[index]);
      if (value instanceof Wrong) return new Wrong(`${column}: ${value.reason}`);
      if (typeof value === 'string') parts.push(value);
    }
    return parts.join('/');
  };
}

/** Makes items of JSON objects, whose values have types. An object is the item itself, unless a map renames its keys. */
export function itemsOfObjects(kind: Kind, rules: Rules): MakeItem<Item> {
  const { columns } = rules;
  if (Array.isArray(columns))
    throw new Stop('A map names columns by position, and JSON has names: name its keys.');
  const constants = Object.entries(rules.constants ?? {});
  const fields: Readonly<Record<string, Field>> = fieldsOf[kind];
  const format = rules.dates === undefined ? undefined : readFormat(rules.dates);
  const conversion = conversionOf(rules, rules.decimal ?? '.', format);
  const converters = new Map(
    Object.entries(columns ?? {}).map(([key, field]) => {
      const type = (field === null ? undefined : fields[field]?.type) ?? 'text';
      const convert = converterOf(type, conversion);
      return [
        key,
        { field, convert: replacing(convert, { kind, field: field ?? '', type, rules }) },
      ] as const;
    }),
  );
  return (row) => {
    const item: Item = {};
    let wrong: string | undefined;
    for (const [key, value] of Object.entries(row)) {
      if (key === rowColumn || key === reasonColumn) continue;
      const mapped = converters.get(key);
      if (mapped === undefined) {
        // Without a map all keys are sent, because the service itself refuses unknown keys.
        if (columns !== undefined) continue;
        item[key] = value;
        // JSON would have null in place of an infinite number, which clears the field.
        if (value === Infinity || value === -Infinity) wrong ??= `${key}: a number that is too large`;
        continue;
      }
      if (mapped.field === null) continue;
      const converted = mapped.convert(isCell(value) ? value : null);
      if (converted instanceof Wrong) wrong ??= `${namedColumn(key, mapped.field)}: ${converted.reason}`;
      else if (converted !== undefined) item[mapped.field] = converted;
    }
    for (const [field, value] of constants) item[field] ??= value;
    return wrong === undefined ? item : new Wrong(wrong, item['externalId']);
  };
}

const isCell = (value: unknown): value is Cell =>
  value === null || ['string', 'number', 'boolean', 'object', 'undefined'].includes(typeof value);

function readFormat(text: string): DateFormat {
  const format = dateFormat(text);
  if (format === undefined) {
    throw new Stop(`"${text}" is no format of dates: YYYY, MM and DD once each, such as DD.MM.YYYY.`);
  }
  return format;
}

function decimalOf(
  texts: readonly string[],
  rules: Rules,
  delimiter: string | undefined,
  where: string,
  notes: string[],
): DecimalSign | undefined {
  if (rules.decimal !== undefined) return rules.decimal;
  const { comma, point, either } = findDecimals(texts);
  if (comma !== undefined && point !== undefined) {
    throw new Stop(
      `${where} has "${comma}" and "${point}": ${platform.advice.decimal} for what its numbers mean.`,
    );
  }
  if (comma !== undefined) notes.push(`decimal comma, as in "${comma}"`);
  if (comma !== undefined) return ',';
  if (point !== undefined) return '.';
  if (either === undefined) return delimiter === ';' ? ',' : undefined;
  // A semicolon as delimiter means a decimal comma: Excel then separates columns by semicolons.
  if (delimiter === ';') {
    notes.push(
      `decimal comma, because of the semicolons: "${either}" is ${either.includes(',') ? 'a fraction' : 'thousands'}`,
    );
    return ',';
  }
  throw new Stop(
    `${where} has "${either}", which can be thousands or a fraction: ${platform.advice.decimal}`,
  );
}

function datesOf(
  texts: readonly string[],
  rules: Rules,
  where: string,
  notes: string[],
): DateFormat | undefined {
  const formats = rules.dates === undefined ? findDates(texts) : [readFormat(rules.dates)];
  const timed = texts.find((text) => losesTime(text, formats?.[0]));
  if (timed !== undefined) notes.push(withoutTime(timed));
  if (formats === undefined) return undefined;
  const [format, other] = formats;
  const example = texts.find((text) => !isNone(text) && readDate(text, undefined) === undefined);
  if (format === undefined)
    throw new Stop(
      `${where} has "${example}", which is no date: ${platform.advice.dates}, such as DD.MM.YYYY.`,
    );
  if (rules.dates !== undefined) return format;
  if (other !== undefined) {
    throw new Stop(
      `${where} has "${example}", which can be ${format.text} or ${other.text}: ${platform.advice.dates} with one of them.`,
    );
  }
  notes.push(`dates as ${format.text}, as in "${example}"`);
  return format;
}
