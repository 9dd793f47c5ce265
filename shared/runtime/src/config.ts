// Settings come from the environment, are read once, and are checked as a whole: a process that starts has
// settings that make sense, and one that does not says everything that is wrong at once.
//
// A schema's property names are the variables' names. Beside JSON Schema's own words a property may carry
// `secret: true` (its value is never printed) and `expected` (words for a rule that the schema states tersely).
import { Ajv, type ErrorObject } from 'ajv';
import formats from 'ajv-formats';
import { Type, type Static, type TObject, type TSchema } from 'typebox';

/** Says what is wrong in words meant for the person who starts the process: one line per problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options);
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig<T extends TObject>(schema: T, environment: Environment): Readonly<Static<T>> {
  const values = valuesOf(schema, environment);
  const ajv = new Ajv({
    allErrors: true,
    strict: true,
    strictRequired: false,
    useDefaults: true,
    formats: formatsOf(),
  });
  ajv.addVocabulary(['secret', 'expected']);
  const valid = ajv.compile<Static<T>>(schema);
  if (!valid(values)) throw new ConfigError(problemsOf(schema, environment, valid.errors ?? []));
  return Object.freeze(values);
}

/** One row of a table of settings. */
export interface Setting {
  name: string;
  description: string;
  expected: string;
  default: string | undefined;
  required: boolean;
  secret: boolean;
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
    };
  });
}

/** What every service needs. */
export const baseSettings = {
  NATS_URL: Type.String({
    description: 'Address of NATS. Several servers of one cluster are separated by commas.',
    default: 'nats://127.0.0.1:4222',
    pattern: '^(nats|tls|ws|wss)://[^\\s,]+(,(nats|tls|ws|wss)://[^\\s,]+)*$',
    expected: 'an address such as nats://127.0.0.1:4222, or several separated by commas',
  }),
  NATS_MONITOR_URL: Type.Optional(
    Type.String({
      description:
        'Where the monitoring of nats-server answers. With it, readiness refuses a server that acknowledges ' +
        'what it has not written to its disk.',
      format: 'uri',
    }),
  ),
  STREAM_REPLICAS: Type.Integer({
    description: 'How many NATS servers keep a copy of each stream: 1 on a single server, 3 on a cluster.',
    default: 1,
    minimum: 1,
    maximum: 5,
  }),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    description: 'The least serious kind of line that is logged.',
    default: 'info',
  }),
  METRICS_HOST: Type.String({
    description: 'Address on which the Prometheus metrics are served. In a container: 0.0.0.0.',
    default: '127.0.0.1',
  }),
  METRICS_PORT: Type.Integer({
    description: 'Port of the Prometheus metrics, `GET /metrics`. 0 takes any free port.',
    default: 0,
    minimum: 0,
    maximum: 65_535,
  }),
};

/** What a service with records of its own needs beside them. */
export const storeSettings = {
  MONGODB_URL: Type.String({
    description: 'Address of MongoDB. Options in it are kept, except that writes are always durable.',
    default: 'mongodb://127.0.0.1:27017',
    pattern: '^mongodb(\\+srv)?://\\S+$',
    expected: 'an address such as mongodb://127.0.0.1:27017',
  }),
  MONGODB_DATABASE: Type.String({
    description: 'Name of the database. Each service keeps to its own collections in it.',
    default: 'integration_sync',
    pattern: '^[A-Za-z0-9_-]{1,63}$',
    expected: 'a name of 1 to 63 letters, digits, _ or -',
  }),
  MONGODB_POOL_SIZE: Type.Integer({
    description: 'How many connections to MongoDB one process opens at most.',
    default: 32,
    minimum: 1,
    maximum: 1_000,
  }),
};

/** The words of a property's schema that matter here. */
interface Rule {
  type?: string;
  enum?: readonly unknown[];
  anyOf?: readonly { const?: unknown; required?: readonly string[] }[];
  oneOf?: readonly { required?: readonly string[] }[];
  format?: string;
  pattern?: string;
  minLength?: number;
  minimum?: number;
  maximum?: number;
  default?: string | number | boolean;
  description?: string;
  expected?: string;
  secret?: boolean;
}

// Ajv's formats, without handing the plugin an instance: its types predate ECMAScript modules.
function formatsOf() {
  return { uri: formats.default.get('uri'), email: formats.default.get('email') };
}

/** An empty variable counts as absent: that is how a compose file leaves one out. */
const isSet = (text: string | undefined): text is string => text !== undefined && text !== '';

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

function problemsOf(schema: TObject, environment: Environment, errors: readonly ErrorObject[]): string[] {
  const problems = new Map<string, string>();
  for (const error of errors) {
    const name = settingOf(error);
    if (name !== undefined)
      problems.set(name, problemOf(name, schema.properties[name] ?? {}, environment[name]));
  }
  const between = errors.some((error) => error.instancePath === '' && settingOf(error) === undefined);
  return between ? [...problems.values(), problemBetween(schema, environment)] : [...problems.values()];
}

/** The one setting that an error is about; none when it is about several of them together. */
function settingOf(error: ErrorObject): string | undefined {
  if (error.schemaPath === '#/required') return String(error.params['missingProperty']);
  return error.instancePath === '' ? undefined : error.instancePath.split('/')[1];
}

function problemOf(name: string, rule: Rule, text: string | undefined): string {
  return `${name}: expected ${expectation(rule)}, ${isSet(text) ? `got ${printable(rule, text)}` : 'but it is not set'}`;
}

/** A rule between settings stands on the schema itself, as `oneOf` or `anyOf` with what each way requires. */
function problemBetween(schema: TObject & Rule, environment: Environment): string {
  const concerned = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].flatMap((way) => way.required ?? []);
  const given = [...new Set(concerned)].filter((name) => isSet(environment[name]));
  return `expected ${schema.expected ?? 'settings that go together'}, got ${given.join(' and ') || 'none of them'}`;
}

/** An address with an @ may carry a password, whether or not somebody thought of marking it. */
function printable(rule: Rule, text: string): string {
  if (rule.secret || text.includes('@')) return `${text.length} characters that are not shown`;
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function expectation(rule: Rule): string {
  if (rule.expected !== undefined) return rule.expected;
  const options = rule.enum ?? rule.anyOf?.map((option) => option.const);
  if (options !== undefined) return `one of ${options.join(', ')}`;
  if (rule.type === 'boolean') return 'true or false';
  if (rule.type === 'integer' || rule.type === 'number') return `${numberWords[rule.type]}${bounds(rule)}`;
  if (rule.format !== undefined)
    return rule.format === 'uri' ? 'an absolute URL' : `text in the form of ${rule.format}`;
  if (rule.pattern !== undefined) return `text that matches ${rule.pattern}`;
  return rule.minLength === undefined ? 'text' : `at least ${rule.minLength} characters`;
}

const numberWords = { integer: 'an integer', number: 'a number' };

function bounds({ minimum, maximum }: Rule): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}
