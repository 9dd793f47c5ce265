// Whether an item is right, and if not, why: at most one reason per field, in words for the person who reads
// the answer. Compiled once per kind from the schema that the documentation is made of.
import { formats, quote } from '@integration-sync/contracts';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TObject, TSchema } from 'typebox';
import { isObject, own } from './body.ts';
import type { Item } from './kind.ts';

export interface Verdict {
  /** What was pushed, if it is an object at all; right in every field that has no reason against it. */
  item: Item;
  /** Empty where the item has no usable one. */
  externalId: string;
  /** By field, in the order of fields. Nothing for an item that is right. */
  reasons: ReadonlyMap<string, string>;
}

export type Validator = (value: unknown) => Verdict;

export function compileValidator(schema: TObject): Validator {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true, formats: { ...formats } });
  ajv.addVocabulary(['x-expected', 'x-required']);
  const isRight = ajv.compile<Item & { externalId: string }>(schema);
  const rules = Object.entries<TSchema>(schema.properties).map(([name, property]) =>
    ruleOf(name, property, ajv.compile(property)),
  );

  return (value) => {
    // Nearly every item is right, and then this is all that it costs.
    if (isRight(value)) return { item: value, externalId: value.externalId, reasons: none };
    if (!isItem(value)) {
      return {
        item: {},
        externalId: '',
        reasons: new Map([['', `expected an object, got ${describe(value)}`]]),
      };
    }
    const reasons = new Map<string, string>();
    for (const rule of rules) {
      const reason = rule.reasonAgainst(own(value, rule.name));
      if (reason !== undefined) reasons.set(rule.name, reason);
    }
    const externalId = reasons.has('externalId') ? '' : String(own(value, 'externalId'));
    return { item: value, externalId, reasons };
  };
}

const none: ReadonlyMap<string, string> = new Map();
const isItem = (value: unknown): value is Item => isObject(value);

interface Rule {
  name: string;
  reasonAgainst(value: unknown): string | undefined;
}

interface Words {
  'x-expected'?: string;
  'x-required'?: string;
  format?: string;
}

function ruleOf(name: string, schema: Words, isRight: ValidateFunction): Rule {
  const { 'x-expected': expected = 'another value', 'x-required': required } = schema;
  return {
    name,
    reasonAgainst(value) {
      if (required !== undefined && isBlank(value)) return required;
      if (value === undefined || isRight(value)) return undefined;
      const hint = schema.format !== undefined && isUk(value) ? ' (use "GB")' : '';
      return `${name}: expected ${expected}, got ${came(value, isRight.errors?.[0])}${hint}`;
    },
  };
}

const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && !/\S/.test(value));

/** The one code that people take for a country's and that is not. */
const isUk = (value: unknown): boolean => typeof value === 'string' && value.toUpperCase() === 'UK';

/** Of an array, the element that is wrong, or how many there are. */
function came(value: unknown, error: ErrorObject | undefined): string {
  if (error?.keyword === 'maxItems' && Array.isArray(value)) return `an array of ${value.length}`;
  const index = Number(error?.instancePath.split('/')[1] ?? Number.NaN);
  return Array.isArray(value) && index < value.length
    ? `${describe(value[index])} at index ${index}`
    : describe(value);
}

function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return 'an array';
  return isObject(value) ? 'an object' : String(value);
}
