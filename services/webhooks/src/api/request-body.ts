// Reads request bodies: from bytes to JSON to a validated value, with an error message for each mistake.
import {
  eventKinds,
  Failure,
  isStrict,
  queryErrorsOf,
  quote,
  unknownKeys,
  type FailureEntry,
} from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { parseJson } from '@integration-sync/runtime/json';
import { ownSchemas } from '@integration-sync/runtime/schemas';
import { Ajv, type ErrorObject } from 'ajv';
import type { Static, TObject } from 'typebox';

const ajv = new Ajv({ ...ownSchemas, allErrors: true, verbose: true, strict: true, strictTypes: false });
ajv.addVocabulary(['x-expected']);

export interface Examined<Value> {
  given: object;
  /** The validated body; undefined if the body does not match the schema. */
  value: Value | undefined;
  /** The errors of the query, which the gateway has found, and the errors of the body against the schema. */
  errors: FailureEntry[];
}

type Asked = Pick<BusRequest, 'body' | 'headers'>;

/** Throws a Failure if the body is no JSON object. With `optional`, an empty body stands for an empty object. */
export function bodyExaminer<T extends TObject>(
  schema: T,
  { optional = false } = {},
): (request: Asked) => Examined<Static<T>> {
  const isValid = ajv.compile<Static<T>>(schema);
  const known = new Set(Object.keys(schema.properties));
  return (request) => {
    const { body } = request;
    const given: unknown = optional && body.length === 0 ? {} : parseJson(body);
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw invalidRequest([
        ...queryErrorsOf(request),
        { pointer: '', detail: 'The body must be a JSON object.' },
      ]);
    }
    const tooLong = tooLongIn(schema, given);
    const unknown = isStrict(request) ? unknownKeys(given, known) : [];
    const short = { ...given, ...Object.fromEntries([...tooLong.keys()].map((field) => [field, []])) };
    const value: unknown = tooLong.size === 0 ? given : short;
    const hasForm = isValid(value);
    const others = (isValid.errors ?? []).filter(({ instancePath }) => !tooLong.has(instancePath.slice(1)));
    // Of several errors of one value, the last one is kept: it names the values that are expected, such as the known kinds.
    const wrong = new Map(others.map(entryOf).map((entry) => [entry.pointer, entry]));
    const errors = [...queryErrorsOf(request), ...tooLong.values(), ...wrong.values(), ...unknown];
    return { given, value: hasForm && tooLong.size === 0 ? value : undefined, errors };
  };
}

/** Returns the validated body. Throws a `Failure` that names all errors: of the query, of the schema, and `others`. */
export function accept<Value>({ value, errors }: Examined<Value>, others: FailureEntry[] = []): Value {
  const all = [...errors, ...others];
  if (value === undefined || all.length > 0) throw invalidRequest(all);
  return value;
}

/** Finds arrays that are too long before their entries are validated: a million error messages would exhaust memory. */
function tooLongIn({ properties }: TObject, body: object): Map<string, FailureEntry> {
  const found = new Map<string, FailureEntry>();
  for (const [field, value] of Object.entries(body)) {
    const max = Object.hasOwn(properties, field)
      ? Reflect.get(properties[field] ?? {}, 'maxItems')
      : undefined;
    if (!Array.isArray(value) || typeof max !== 'number' || value.length <= max) continue;
    const detail = `${field}: expected ${expectation('maxItems', max)}, got ${describe(value)}`;
    found.set(field, { pointer: `/${field}`, detail });
  }
  return found;
}

export const invalidRequest = (errors: FailureEntry[]): Failure =>
  new Failure('invalid_request', errors.map(({ detail }) => detail).join('; '), { errors });

function entryOf({ instancePath, keyword, params, data, schema, parentSchema }: ErrorObject): FailureEntry {
  const missing = keyword === 'required' ? String(params['missingProperty']) : undefined;
  const pointer = missing === undefined ? instancePath : `${instancePath}/${missing}`;
  const field = pointer.slice(1);
  if (missing !== undefined) return { pointer, detail: `${field} is required` };
  const expected = String(parentSchema?.['x-expected'] ?? expectation(keyword, schema));
  // An error message, like any other answer, must not contain the value of a write-only field.
  const got = parentSchema?.['writeOnly'] === true ? '' : `, got ${describe(data)}`;
  return { pointer, detail: `${field}: expected ${expected}${got}` };
}

const expectation = (keyword: string, schema: unknown): string =>
  expectations[keyword]?.(String(schema)) ?? `a value that satisfies "${keyword}"`;

const expectations: Readonly<Record<string, (schema: string) => string>> = {
  enum: () => `one of ${eventKinds.join(', ')}`,
  minItems: () => 'at least one kind of event',
  maxItems: (max) => `at most ${max} entries`,
  maxLength: (max) => `at most ${max} characters`,
  minimum: (min) => `a whole number of ${min} or more`,
  maximum: (max) => `a whole number of ${max} or less`,
  type: (type) => types[type] ?? `a ${type}`,
};

const types: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  object: 'an object',
};

function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
