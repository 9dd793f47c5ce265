// Finds the field of each column of a table, from a map or from the names in the header.
import { platform } from '#platform';
import type { Kind } from '@integration-sync/client';
import { Stop } from '../exit.ts';
import { fieldsOf, neededOf, reasonColumn, rowColumn } from '../kinds.ts';
import { layouts, otherNames, type Layout } from './headers.ts';
import { nearest, plainName } from './nearest.ts';

export interface Binding {
  index: number;
  column: string;
  field: string;
}

export interface Bindings {
  bound: readonly Binding[];
  /** Columns that have no field. */
  unused: readonly string[];
  /** The columns whose texts form the externalId, in a file without a column for the externalId. */
  key?: readonly Omit<Binding, 'field'>[];
}

/** The column of each field. */
export const columnsOf = (bound: readonly Binding[]): ReadonlyMap<string, string> =>
  new Map(bound.map(({ field, column }) => [field, column]));

export type Columns = Readonly<Record<string, string | null>> | readonly (string | null)[];

export interface ColumnRules {
  kind: Kind;
  /**
   * The field of each column, by the name of the column, or by its position in a table without a header. A column with null is
   * ignored.
   */
  columns?: Columns | undefined;
  constants?: Readonly<Record<string, unknown>> | undefined;
}

/** Throws a Stop that names missing or repeated fields and the most similar columns. `where` names file and sheet. */
export function bindColumns(header: readonly string[], rules: ColumnRules, where: string): Bindings {
  const { kind, columns } = rules;
  if (isByPosition(columns)) {
    for (const field of columns) checkField(field, field ?? '', kind, where);
    return bind(header, rules, where, byName(kind));
  }
  if (columns !== undefined) return bind(header, rules, where, byMap(columns, kind, where));
  return byLayout(header, rules, where) ?? bind(header, rules, where, byName(kind));
}

/** The field of each column as far as it is known: a header that lacks needed fields is no error here. */
export function fieldsOfHeader(header: readonly string[], rules: ColumnRules): (string | undefined)[] {
  const { kind, columns } = rules;
  try {
    const { bound } = bindColumns(header, rules, '');
    return header.map((_, at) => bound.find(({ index }) => index === at)?.field);
  } catch {
    if (isByPosition(columns)) return header.map((_, at) => columns[at] ?? undefined);
    const fieldOf = columns === undefined ? byName(kind) : (column: string) => fieldIn(columns, column);
    return header.map((column) => fieldOf(column) ?? undefined);
  }
}

/** The columns that a load ignores, because they have no field and are not part of the key. */
export function leftOut(header: readonly string[], rules: ColumnRules): string[] {
  const fields = fieldsOfHeader(header, rules);
  const layout = layouts[rules.kind];
  const isOfKey = (column: string): boolean =>
    !fields.includes('externalId') && layout?.key.some((names) => names.includes(plainName(column))) === true;
  return header.filter(
    (column, at) =>
      fields[at] === undefined && !['', rowColumn, reasonColumn].includes(column) && !isOfKey(column),
  );
}

const fieldIn = (
  columns: Readonly<Record<string, string | null>>,
  column: string,
): string | null | undefined =>
  Object.entries(columns).find(([name]) => plainName(name) === plainName(column))?.[1];

/**
 * Finds the columns by the known layout of an export. Undefined if the file has a column for each needed field, or another
 * layout.
 */
function byLayout(header: readonly string[], rules: ColumnRules, where: string): Bindings | undefined {
  const layout = layouts[rules.kind];
  const names = new Set(header.map(plainName));
  const isWhole = neededOf(rules.kind).every((field) => names.has(plainName(field)));
  if (layout === undefined || isWhole || names.has(plainName('externalId'))) return undefined;
  const key = keyOf(layout, header);
  // The first and the last column of the key are needed, because no row of this export has an empty cell there.
  if (key.at(0) === undefined || key.at(-1) === undefined) return undefined;
  const named = byName(rules.kind);
  const fieldOf: FieldOf = (column) => named(column) ?? layout.fields.get(plainName(column));
  const constants = { ...rules.constants, externalId: rules.constants?.['externalId'] ?? '' };
  const { bound, unused } = bind(header, { ...rules, constants }, where, fieldOf);
  const there = key.flatMap((column) => column ?? []);
  return {
    bound,
    unused: unused.filter((column) => !there.some((one) => one.column === column)),
    key: there,
  };
}

const keyOf = ({ key }: Layout, header: readonly string[]): (Omit<Binding, 'field'> | undefined)[] =>
  key.map((headers) => {
    const index = header.findIndex((column) => headers.includes(plainName(column)));
    const column = header[index];
    return column === undefined ? undefined : { index, column };
  });

function bind(header: readonly string[], rules: ColumnRules, where: string, fieldOf: FieldOf): Bindings {
  const { kind, constants = {} } = rules;
  const bound: Binding[] = [];
  const unused: string[] = [];
  for (const [index, column] of header.entries()) {
    if (column === '' || column === rowColumn || column === reasonColumn) continue;
    const field = fieldOf(column);
    if (field === undefined) unused.push(column);
    else if (field !== null) bound.push({ index, column, field });
  }
  refuseTwice(bound, where);
  const isThere = (field: string): boolean => field in constants || bound.some((one) => one.field === field);
  const missing = neededOf(kind).filter((field) => !isThere(field));
  if (missing.length > 0) throw new Stop(missingMessage(missing, header, kind, where));
  return { bound, unused };
}

/** Whether a row of cells can be the header: it has a column for each needed field. */
export function isHeader(cells: readonly string[], rules: ColumnRules): boolean {
  if (isByPosition(rules.columns)) return cells.length === rules.columns.length;
  try {
    bindColumns(cells, rules, '');
    return true;
  } catch {
    return false;
  }
}

const isByPosition = (columns: Columns | undefined): columns is readonly (string | null)[] =>
  Array.isArray(columns);

/** Names for the columns of a table without a header: the names of their fields. */
export const namesByPosition = (columns: readonly (string | null)[]): string[] =>
  columns.map((field, index) => field ?? `column ${index + 1}`);

type FieldOf = (column: string) => string | null | undefined;

function byName(kind: Kind): FieldOf {
  const names = new Map(Object.keys(fieldsOf[kind]).map((field) => [plainName(field), field]));
  return (column) => names.get(plainName(column)) ?? otherNames[kind].get(plainName(column));
}

function byMap(columns: Columns, kind: Kind, where: string): FieldOf {
  const names = new Map<string, string | null>();
  for (const [column, field] of Object.entries(columns)) {
    checkField(field, column, kind, where);
    names.set(plainName(column), field);
  }
  return (column) => names.get(plainName(column));
}

function checkField(field: string | null, column: string, kind: Kind, where: string): void {
  if (field === null || Object.hasOwn(fieldsOf[kind], field)) return;
  const [near] = nearest(field, Object.keys(fieldsOf[kind]), 1);
  throw new Stop(
    `${where}: the map says "${field}" for "${column}", which is no field of ${kind}${near === undefined ? '' : `: the nearest is "${near}"`}.`,
  );
}

function refuseTwice(bound: readonly Binding[], where: string): void {
  for (const { field } of bound) {
    const same = bound.filter((one) => one.field === field);
    const columns = same.map(({ column }) => `"${column}"`);
    if (same.length > 1 && new Set(columns).size < same.length) {
      const places = same.map(({ index }) => index + 1).join(' and ');
      throw new Stop(
        `${where}: the columns ${places} are all named ${columns[0]}, which is "${field}". Rename one of them in the file.`,
      );
    }
    if (columns.length > 1) {
      throw new Stop(
        `${where}: the columns ${columns.join(' and ')} are both "${field}". ${platform.advice.columnTwice}`,
      );
    }
  }
}

function missingMessage(
  missing: readonly string[],
  header: readonly string[],
  kind: Kind,
  where: string,
): string {
  const named = header.filter((column) => column !== '');
  const lines = missing.map((field) => {
    const near = nearest(field, named, 3);
    const what =
      near.length === 0 ? `The columns are ${list(named.slice(0, 12))}` : `The nearest are ${list(near)}`;
    return `${where}: no column is "${field}", which ${kind} need. ${what}.`;
  });
  return [...lines, platform.advice.column].join('\n');
}

const list = (names: readonly string[]): string =>
  names.length === 0 ? 'none' : names.map((name) => `"${name}"`).join(', ');
