// npm run generate writes python/src/integration_sync/types.py: what callers of the Python client send and read, made of the same
// schemas as client/src/types.ts.
import { writeFile } from 'node:fs/promises';
import { routes } from '@integration-sync/contracts';
import { eventSchemas, nameOf, schemasOf, type Schema } from './client-types.ts';

const file = new URL('../python/src/integration_sync/types.py', import.meta.url);

const simple: Readonly<Record<string, string>> = {
  string: 'str',
  number: 'float',
  integer: 'int',
  boolean: 'bool',
  null: 'None',
};

/** The Python type of a schema; collects each object in `named`, as a class of its title, or else of the name given. */
function typeOf(schema: Schema, name: string, named: Map<string, string>): string {
  const literals = schema.const === undefined ? schema.enum : [schema.const];
  if (literals !== undefined) return literalOf(literals);
  const alternatives = [schema.type ?? []].flat().map((type) => {
    if (type === 'array') return `list[${typeOf(schema.items ?? {}, name, named)}]`;
    return type === 'object' ? objectOf(schema, name, named) : simple[type];
  });
  if (alternatives.length === 0 || alternatives.includes(undefined)) {
    throw new Error(`no type is known for the schema ${JSON.stringify(schema)}`);
  }
  return alternatives.join(' | ');
}

const literalOf = (values: readonly (string | null)[]): string =>
  `Literal[${values.map((value) => (value === null ? 'None' : JSON.stringify(value))).join(', ')}]`;

function objectOf(schema: Schema, otherwise: string, named: Map<string, string>): string {
  const { title, properties, required = [], additionalProperties: values } = schema;
  if (properties === undefined && values !== undefined)
    return `dict[str, ${typeOf(values, otherwise, named)}]`;
  const fields = Object.entries(properties ?? {});
  if (fields.length === 0) return 'dict[str, Any]';
  const name = title === undefined ? otherwise : nameOf(title);
  const lines = fields.map(([field, property]) => {
    const type = typeOf(property, name + nameOf(field), named);
    return `    ${field}: ${required.includes(field) ? type : `NotRequired[${type}]`}`;
  });
  named.set(name, `class ${name}(TypedDict):\n${lines.join('\n')}`);
  return name;
}

/** The text of the generated file. The Python client has no calls for webhooks. */
export function pythonTypes(): string {
  const named = new Map<string, string>();
  const schemas = schemasOf(routes.filter(({ path }) => !path.includes('/webhook-events')));
  for (const schema of schemas) typeOf(schema, 'Answer', named);
  const events = eventSchemas().map((schema) => typeOf(schema, 'Event', named));
  return `${[
    '"""npm run generate writes this file: the types of requests and answers, from the schemas of the API."""',
    'from typing import Any, Literal, NotRequired, TypeAlias, TypedDict',
    ...named.values(),
    `Event: TypeAlias = (\n    ${events.join('\n    | ')}\n)`,
  ].join('\n\n\n')}\n`;
}

if (import.meta.main) {
  await writeFile(file, pythonTypes());
  process.stdout.write('python/src/integration_sync/types.py is written.\n');
}
