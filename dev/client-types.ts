// npm run generate writes client/src/types.ts: what callers send and read, as TypeScript. It is made of the schemas that the
// services check with, for a package that imports none of them.
import { writeFile } from 'node:fs/promises';
import { eventBodyOf, eventData, eventKinds, routes } from '@integration-sync/contracts';
import { formatted } from './formatted.ts';

const file = new URL('../client/src/types.ts', import.meta.url);

/** The part of JSON Schema that the contracts are written in. */
export interface Schema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  const?: string;
  enum?: readonly (string | null)[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema;
}

const simple: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** The TypeScript type of a schema; collects each object with a title in `named`, as an interface of that name. */
function typeOf(schema: Schema, named: Map<string, string>): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const types = [schema.type ?? []].flat();
  const alternatives = types.map((type) => {
    if (type === 'array') return `(${typeOf(schema.items ?? {}, named)})[]`;
    return type === 'object' ? objectOf(schema, named) : simple[type];
  });
  if (alternatives.length === 0 || alternatives.includes(undefined)) {
    throw new Error(`no type is known for the schema ${JSON.stringify(schema)}`);
  }
  return alternatives.join(' | ');
}

function objectOf(schema: Schema, named: Map<string, string>): string {
  const { title, properties, required = [], additionalProperties: values } = schema;
  if (properties === undefined && values !== undefined) return `Record<string, ${typeOf(values, named)}>`;
  const lines = Object.entries(properties ?? {}).map(([name, property]) => {
    const comment = property.description === undefined ? '' : `/** ${property.description} */\n`;
    // A caller may also send `undefined`: JSON.stringify leaves such fields out.
    const mark = required.includes(name) ? '' : '?';
    return `${comment}${name}${mark}: ${typeOf(property, named)}${mark === '' ? '' : ' | undefined'};`;
  });
  const body = `{\n${lines.join('\n')}\n}`;
  if (title === undefined) return body;
  const name = nameOf(title);
  named.set(name, `export interface ${name} ${body}`);
  return name;
}

/** The name of the type of a schema with that title. */
export const nameOf = (title: string): string =>
  title
    .split(/[ .]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** The text of the generated file. */
export async function clientTypes(): Promise<string> {
  const named = new Map<string, string>();
  for (const schema of schemasOf(routes)) typeOf(schema, named);
  const events = eventSchemas().map((schema) => typeOf(schema, named));
  const text = [
    '// npm run generate writes this file: the types of requests and answers, from the schemas of the API.',
    ...named.values(),
    `export type Event = ${events.join(' | ')};`,
    "export type EventKind = Event['event'];",
  ].join('\n\n');
  return formatted(file.pathname, text);
}

/** The schemas of what callers of the routes send and read. */
export const schemasOf = (some: readonly (typeof routes)[number][]): Schema[] =>
  some.flatMap(({ body, answer }) =>
    [body?.schema, answer.schema].flatMap((schema) => (schema === undefined ? [] : [plain(schema)])),
  );

/** The schema of the body of each kind of event. */
export const eventSchemas = (): Schema[] =>
  eventKinds.map((kind) => plain(eventBodyOf(kind, eventData[kind])));

const plain = (schema: object): Schema => JSON.parse(JSON.stringify(schema));

if (import.meta.main) {
  await writeFile(file, await clientTypes());
  process.stdout.write('client/src/types.ts is written.\n');
}
