// Describes in words which value a setting expects and which value it has; never shows a secret.
import type { ErrorObject } from 'ajv';
import type { TObject, TSchema } from 'typebox';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The keywords of a setting's schema that this file reads. */
export interface Rule {
  type?: string;
  enum?: readonly unknown[];
  anyOf?: readonly { required?: readonly string[] }[];
  minimum?: number;
  maximum?: number;
  default?: string | number | boolean;
  description?: string;
  expected?: string;
  secret?: boolean;
  file?: boolean;
  beside?: (settings: Settings) => string[];
}

export type Settings = Readonly<Record<string, unknown>>;

/** One row of the documented table of settings. */
export type Setting = ReturnType<typeof listSettings>[number];

export function listSettings(schema: TObject) {
  return Object.entries<TSchema>(schema.properties).map(([name, property]) => {
    const rule: Rule = property;
    return {
      name,
      description: rule.description ?? '',
      expected: expectation(rule),
      default: rule.default === undefined ? undefined : String(rule.default),
      required: rule.default === undefined && (schema.required ?? []).includes(name),
      secret: rule.secret ?? false,
      inFile: mayStandInFile(rule),
    };
  });
}

/** Whether a file may hold the value, as for secrets and for addresses with a password. */
export const mayStandInFile = ({ secret, file }: Rule): boolean => secret === true || file === true;

/** An empty variable counts as absent, because a compose file cannot leave a variable out. */
export const isSet = (text: string | undefined): text is string => text !== undefined && text !== '';

export interface Given {
  /** The environment, completed by the values from files. */
  environment: Environment;
  /** By setting, the path of the file that holds its value. */
  paths: ReadonlyMap<string, string>;
  /** By setting, the problem with its file. */
  problems: ReadonlyMap<string, string>;
}

export function problemsOf(schema: TObject, given: Given, errors: readonly ErrorObject[]): string[] {
  const wrong = new Set(errors.map(settingOf));
  const problems = Object.entries<TSchema>(schema.properties).flatMap(([name, rule]) => {
    const ofFile = given.problems.get(name);
    if (ofFile !== undefined) return [ofFile];
    return wrong.has(name) ? [problemOf(name, rule, given)] : [];
  });
  return wrong.has(undefined) ? [...problems, ...problemBetween(schema, given)] : problems;
}

/** The setting that an error concerns; undefined for an error about several settings together. */
function settingOf(error: ErrorObject): string | undefined {
  if (error.schemaPath === '#/required') return String(error.params['missingProperty']);
  return error.instancePath === '' ? undefined : error.instancePath.split('/')[1];
}

function problemOf(name: string, rule: Rule, { environment, paths }: Given): string {
  const text = environment[name];
  const path = paths.get(name);
  const got = isSet(text) ? `got ${printable(rule, text, path)}` : 'but it is not set';
  return `${name}: expected ${expectation(rule)}, ${got}`;
}

/** The problem if the given settings fit no alternative of `anyOf`, by which the schema says which settings go together. */
function problemBetween(schema: TObject & Rule, { environment, problems }: Given): string[] {
  const concerned = (schema.anyOf ?? []).flatMap((way) => way.required ?? []);
  // A setting whose file cannot be read is already reported.
  if (concerned.some((name) => problems.has(name))) return [];
  const given = [...new Set(concerned)].filter((name) => isSet(environment[name]));
  const got = given.join(' and ') || 'none of them';
  return [`expected ${schema.expected ?? 'settings that go together'}, got ${got}`];
}

/** The value as a message may show it: an address with an @ may hold a password, and a wrong file may hold anything. */
function printable(rule: Rule, text: string, path: string | undefined): string {
  if (path !== undefined) return `${text.length} characters of ${JSON.stringify(path)} that are not shown`;
  if (rule.secret || text.includes('@')) return `${text.length} characters that are not shown`;
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function expectation(rule: Rule): string {
  if (rule.expected !== undefined) return rule.expected;
  if (rule.enum !== undefined) return `one of ${rule.enum.join(', ')}`;
  if (rule.type === 'boolean') return 'true or false';
  if (rule.type === 'integer') return `an integer${bounds(rule)}`;
  return rule.type === 'number' ? `a number${bounds(rule)}` : 'text';
}

function bounds({ minimum, maximum }: Rule): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}
