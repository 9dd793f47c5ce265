// Request bodies: bytes to JSON to a checked value, and what is wrong with them in words.
import { eventKinds, Failure, quote, type FailureEntry } from '@integration-sync/contracts';
import { parseJson } from '@integration-sync/runtime/json';
import { Ajv, type ErrorObject } from 'ajv';
import type { Static, TObject } from 'typebox';

const ajv = new Ajv({ allErrors: true, verbose: true, strict: true, strictTypes: false });

/** Throws the failure to answer with. With `optional`, no body at all is an empty object. */
export function bodyReader<T extends TObject>(
  schema: T,
  { optional = false } = {},
): (bytes: Uint8Array) => Static<T> {
  const isValid = ajv.compile<Static<T>>(schema);
  return (bytes) => {
    const body: unknown = optional && bytes.length === 0 ? {} : parseJson(bytes);
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new Failure('invalid_request', 'The body must be a JSON object.');
    }
    refuseIfTooLong(schema, body);
    if (isValid(body)) return body;
    const entries = (isValid.errors ?? []).map(entryOf);
    throw invalidRequest(entries);
  };
}

/** Before anything else: what is told of a million wrong entries would take more memory than there is. */
function refuseIfTooLong({ properties }: TObject, body: object): void {
  for (const [field, value] of Object.entries(body)) {
    const max = Object.hasOwn(properties, field)
      ? Reflect.get(properties[field] ?? {}, 'maxItems')
      : undefined;
    if (!Array.isArray(value) || typeof max !== 'number' || value.length <= max) continue;
    const detail = `${field}: expected ${expectation('maxItems', max)}, got ${describe(value)}`;
    throw invalidRequest([{ pointer: `/${field}`, detail }]);
  }
}

export const invalidRequest = (errors: FailureEntry[]): Failure =>
  new Failure('invalid_request', errors.map(({ detail }) => detail).join('; '), { errors });

function entryOf({ instancePath, keyword, params, data, schema }: ErrorObject): FailureEntry {
  const missing = keyword === 'required' ? String(params['missingProperty']) : undefined;
  const pointer = missing === undefined ? instancePath : `${instancePath}/${missing}`;
  const field = pointer.slice(1);
  if (missing !== undefined) return { pointer, detail: `${field} is required` };
  const expected = expectation(keyword, schema);
  return { pointer, detail: `${field}: expected ${expected}, got ${describe(data)}` };
}

function expectation(keyword: string, schema: unknown): string {
  switch (keyword) {
    case 'enum':
      return `one of ${eventKinds.join(', ')}`;
    case 'minItems':
      return 'at least one kind of event';
    case 'maxItems':
      return `at most ${String(schema)} entries`;
    case 'maxLength':
      return `at most ${String(schema)} characters`;
    case 'minimum':
      return `a whole number of ${String(schema)} or more`;
    case 'maximum':
      return `a whole number of ${String(schema)} or less`;
    case 'type':
      return schema === 'integer'
        ? 'a whole number'
        : schema === 'boolean'
          ? 'true or false'
          : article(schema);
    default:
      return `a value that satisfies "${keyword}"`;
  }
}

const article = (type: unknown): string =>
  `${type === 'array' || type === 'object' ? 'an' : 'a'} ${String(type)}`;

function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
