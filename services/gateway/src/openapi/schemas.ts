// Turns the schemas that the services check with into schemas of the document. A schema with a title is once under
// `components`, and the document refers to the schema by its name.
import type { TSchema } from 'typebox';
import { inPascalCase, plain, reference, type Json, type JsonObject } from './model.ts';

export type SchemaCollection = ReturnType<typeof collectSchemas>;

export function collectSchemas() {
  const named: Record<string, JsonObject> = {};

  const convert = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(convert);
    if (!isObject(value)) return value;
    const converted = Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !internal.has(key))
        .map(([key, part]) => [key, key === 'pattern' ? portablePattern(part) : convert(part ?? null)]),
    );
    const { default: fallback, description } = value;
    if (fallback !== undefined && typeof description === 'string')
      converted['description'] = `${description}; ${JSON.stringify(fallback)} unless given`;
    if (typeof value['title'] !== 'string' || value['type'] !== 'object') return converted;
    const name = inPascalCase(value['title']);
    named[name] = converted;
    return reference('schemas', name);
  };

  return {
    /** All schemas with a title with which `use` was called, in the order of their names. */
    inOrder: (): Record<string, JsonObject> =>
      Object.fromEntries(Object.entries(named).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    /** The converted schema, or a reference to a schema with a title. */
    use(schema: TSchema): JsonObject {
      const converted = convert(plain(schema));
      return isObject(converted) ? converted : {};
    },
  };
}

/**
 * Keywords that the document leaves out: those that word the services' error messages, and `default`, because generators
 * make a field with a default required. The description says the default.
 */
const internal = new Set(['x-required', 'x-expected', 'default']);

/** Removes lone surrogates from a pattern: not every language can write them, and no caller can send them as UTF-8. */
const portablePattern = (pattern: Json | undefined): Json =>
  typeof pattern === 'string' ? pattern.replaceAll('\\ud800-\\udfff', '') : null;

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
