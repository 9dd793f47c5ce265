// Validates items, with at most one reason for each field, in words for a person. The validator of a kind is compiled once, from
// the schema from which the documentation is generated too. The file of each kind in contracts has the text for a missing field.
import { formats, hints, quote } from '@integration-sync/contracts';
import { ownSchemas } from '@integration-sync/runtime/schemas';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TObject, TSchema } from 'typebox';
import { isObject, own } from './push-body.ts';
import type { Item } from '../kind.ts';

export interface Verdict {
  /** The pushed item; an empty object if the value is no object. Each field without an entry in `reasons` is valid. */
  item: Item;
  /** The externalId of the item; empty if the item has no valid one. */
  externalId: string;
  /** The reason against each invalid field, in the order of fields; empty for a valid item. */
  reasons: ReadonlyMap<string, string>;
}

export type Validator = (value: unknown) => Verdict;

/** One instance for all kinds, as Ajv compiles each schema once. */
const ajv = new Ajv({ ...ownSchemas, strict: true, allowUnionTypes: true, formats: { ...formats } });
ajv.addVocabulary(['x-expected', 'x-required']);

export function compileValidator(schema: TObject): Validator {
  const isRight = ajv.compile<Item & { externalId: string }>(schema);
  const rules = Object.entries<TSchema>(schema.properties).map(
    ([name, property]) => [name, ruleOf(name, property, ajv.compile(property))] as const,
  );

  return (value) => {
    // One check of the whole item suffices for nearly every item, because it is valid.
    if (isRight(value)) return { item: value, externalId: value.externalId, reasons: none };
    if (!isObject(value)) {
      const reasons = new Map([['', `expected an object, got ${describe(value)}`]]);
      return { item: {}, externalId: '', reasons };
    }
    const reasons = new Map<string, string>();
    for (const [name, reasonAgainst] of rules) {
      const reason = reasonAgainst(own(value, name));
      if (reason !== undefined) reasons.set(name, reason);
    }
    const externalId = reasons.has('externalId') ? '' : String(own(value, 'externalId'));
    return { item: value, externalId, reasons };
  };
}

/** Whether a value is a valid externalId of the kind. */
export const idCheck =
  (validate: Validator) =>
  (value: unknown): value is string =>
    !validate({ externalId: value }).reasons.has('externalId');

const none: ReadonlyMap<string, string> = new Map();

/** The reason against a value; undefined for a valid value. */
type ReasonAgainst = (value: unknown) => string | undefined;

interface Words {
  'x-expected'?: string;
  'x-required'?: string;
  format?: string;
}

function ruleOf(name: string, schema: Words, isRight: ValidateFunction): ReasonAgainst {
  const { 'x-expected': expected = 'another value', 'x-required': required } = schema;
  return (value) => {
    if (required !== undefined && isBlank(value)) return required;
    if (value === undefined || isRight(value)) return undefined;
    return `${name}: expected ${expected}, got ${came(value, isRight.errors?.[0])}${hintOn(schema, value)}`;
  };
}

const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && !/\S/.test(value));

function hintOn({ format = '' }: Words, value: unknown): string {
  const better = typeof value === 'string' ? hints[format]?.(value) : undefined;
  return better === undefined ? '' : ` (use ${quote(better)})`;
}

/** Describes a wrong value. An array shows its wrong element, or its size; a string that is too long shows its length too. */
function came(value: unknown, error: ErrorObject | undefined): string {
  if (error?.keyword === 'maxItems' && Array.isArray(value)) return `an array of ${value.length}`;
  const index = Number(error?.instancePath.split('/')[1] ?? Number.NaN);
  const isInside = Array.isArray(value) && index < value.length;
  const wrong: unknown = isInside ? value[index] : value;
  const where = isInside ? ` at index ${index}` : '';
  const length =
    error?.keyword === 'maxLength' && typeof wrong === 'string' ? ` (${lengthOf(wrong)} characters)` : '';
  return `${describe(wrong)}${where}${length}`;
}

/** The length in code points, as `maxLength` counts. An iterator over the code points takes six times as long as this loop. */
function lengthOf(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length; index += 1) {
    if ((text.codePointAt(index) ?? 0) > 0xffff) {
      length -= 1;
      index += 1;
    }
  }
  return length;
}

/** A wrong value in words, for an error such as "expected an object, got an array". */
export function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return 'an array';
  return isObject(value) ? 'an object' : String(value);
}
