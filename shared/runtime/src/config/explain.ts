// Puts into words what a setting should be, what came instead, and never a secret.
import type { ErrorObject } from 'ajv';
import type { TObject, TSchema } from 'typebox';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The words of a property's schema that matter here. */
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

/** Settings by their names. */
export type Settings = Readonly<Record<string, unknown>>;

/** One row of a table of settings. */
export interface Setting {
  name: string;
  description: string;
  expected: string;
  default: string | undefined;
  required: boolean;
  secret: boolean;
  /** Whether `<name>_FILE` may say where it stands. */
  inFile: boolean;
}

export function listSettings(schema: TObject): Setting[] {
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

/** Secrets may stand in a file of their own, and so may addresses with a password. */
export const mayStandInFile = ({ secret, file }: Rule): boolean => secret === true || file === true;

/** An empty variable counts as absent: that is how a compose file leaves one out. */
export const isSet = (text: string | undefined): text is string => text !== undefined && text !== '';

/** What the settings were taken from. */
export interface Given {
  /** With what files hold. */
  environment: Environment;
  /** By setting, the path of the file that it was read from. */
  paths: ReadonlyMap<string, string>;
  /** By setting, what is wrong with its file. */
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

/** The one setting that an error is about; none when it is about several of them together. */
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

/** A rule between settings stands on the schema itself, as `anyOf` with what each way requires. */
function problemBetween(schema: TObject & Rule, { environment, problems }: Given): string[] {
  const concerned = (schema.anyOf ?? []).flatMap((way) => way.required ?? []);
  // One that is given and cannot be read has its own line.
  if (concerned.some((name) => problems.has(name))) return [];
  const given = [...new Set(concerned)].filter((name) => isSet(environment[name]));
  const got = given.join(' and ') || 'none of them';
  return [`expected ${schema.expected ?? 'settings that go together'}, got ${got}`];
}

/** An address with an @ may carry a password, and a file that was named by mistake anything. */
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
