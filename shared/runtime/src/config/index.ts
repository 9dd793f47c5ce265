// Settings come from the environment, are read once, and are checked as a whole: a process that starts has
// settings that make sense, and one that does not says everything that is wrong at once.
//
// A schema's property names are the variables' names. Beside JSON Schema's own words a property may carry
// `secret: true` (its value is never printed), `file: true` (its value may stand in a file, as a secret's may), `expected`
// (words for a rule that the schema states tersely), `check` (a rule that only code can state, such as whether its
// reader can read the value), and `beside` (what is wrong with it and other settings together).
import { Ajv } from 'ajv';
import type { Static, TObject, TSchema } from 'typebox';
import { ownSchemas } from '../schemas.ts';
import { isSet, problemsOf, type Environment, type Rule } from './explain.ts';
import { readFiles } from './files.ts';

export { isHttpAddress, parseNatsServers, type NatsServers } from './addresses.ts';
export { fileReasons } from './files.ts';
export { listSettings, type Environment, type Setting } from './explain.ts';
export { maskSettings } from './mask.ts';
export { natsOptionsOf, natsSettings, type NatsLogin, type NatsOptions, type NatsTls } from './nats.ts';
export { baseSettings, storeSettings } from './settings.ts';
export { tracingSettings, type TracingConfig } from './tracing.ts';

/** Says what is wrong in words meant for the person who starts the process: one line per problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options);
  }
}

/** A port that cannot be had; `settings` name it. */
export function portRefused(settings: string, address: string, cause: unknown): ConfigError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const words = cause instanceof Error ? cause.message : String(cause);
  const why = code === 'EADDRINUSE' ? 'the port is taken; choose another, or 0 for any free one' : words;
  return new ConfigError([`${settings}: cannot listen on ${address} (${why})`], { cause });
}

/** One for all schemas: it compiles each of them once. */
const ajv = new Ajv({
  ...ownSchemas,
  allErrors: true,
  strict: true,
  strictRequired: false,
  useDefaults: true,
});
ajv.addVocabulary(['secret', 'file', 'expected', 'beside']);
ajv.addKeyword({
  keyword: 'check',
  validate: (check: (text: string) => boolean, text: string) => check(text),
  errors: false,
});

export function readConfig<T extends TObject>(schema: T, environment: Environment): Readonly<Static<T>> {
  const given = readFiles(schema, environment);
  const values = valuesOf(schema, given.environment);
  const valid = ajv.compile<Static<T>>(schema);
  const isValid = valid(values);
  const problems = [...problemsOf(schema, given, valid.errors ?? []), ...problemsBeside(schema, values)];
  if (!isValid || problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values);
}

const problemsBeside = (schema: TObject, values: Record<string, unknown>): string[] =>
  Object.values<TSchema>(schema.properties).flatMap(({ beside }: Rule) => beside?.(values) ?? []);

function valuesOf(schema: TObject, environment: Environment): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries<TSchema>(schema.properties)) {
    const text = environment[name];
    if (isSet(text)) values[name] = valueOf(property, text);
  }
  return values;
}

/** Text that is not exactly a value of the declared type stays text, so that the schema refuses it. */
function valueOf({ type }: Rule, text: string): unknown {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if (type === 'number' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'integer' && /^-?(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text)))
    return Number(text);
  return text;
}
