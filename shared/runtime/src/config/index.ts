// Reads the settings from the environment, once, and checks all of them: a process starts with valid settings, or reports every
// problem in one error.
//
// The names of a schema's properties are the names of environment variables. A property may have further keywords: `secret: true`
// (never printed), `file: true` (a file may hold the value, as for secrets), `expected` (a description of valid values), `check` (a
// rule in code), and `beside` (a function that returns the problems of several settings together).
import { Ajv } from 'ajv';
import type { Static, TObject, TSchema } from 'typebox';
import { ownSchemas } from '../schemas.ts';
import { isSet, problemsOf, type Environment, type Rule } from './explain.ts';
import { readFiles } from './files.ts';

export { isHttpAddress, parseNatsServers, type NatsServers } from './addresses.ts';
export { fileReasons } from './files.ts';
export { listSettings, type Environment, type Setting } from './explain.ts';
export { maskAddresses, maskSettings } from './mask-settings.ts';
export { nearNames } from './near-names.ts';
export { natsOptionsOf, natsSettings, type NatsLogin, type NatsOptions, type NatsTls } from './nats.ts';
export { baseSettings, storeSettings, tracingSettings, type TracingConfig } from './shared-settings.ts';

/** The error with the problems of the settings, a line each, for the person who starts the process. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options);
  }
}

/** The error for a port on which the process cannot listen; `settings` are the names of the settings. */
export function portRefused(settings: string, address: string, cause: unknown): ConfigError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const words = cause instanceof Error ? cause.message : String(cause);
  const why = code === 'EADDRINUSE' ? 'the port is taken; choose another, or 0 for any free one' : words;
  return new ConfigError([`${settings}: cannot listen on ${address} (${why})`], { cause });
}

/** One instance for all schemas, because an Ajv instance compiles each schema only once. */
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

/** Converts the text to the type of the setting; other text stays text, so that the schema refuses it. */
function valueOf({ type }: Rule, text: string): unknown {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if (type === 'number' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'integer' && /^-?(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text)))
    return Number(text);
  return text;
}
