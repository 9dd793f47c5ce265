import {
  baseSettings,
  listSettings,
  natsSettings,
  readConfig,
  storeSettings,
} from '@integration-sync/runtime/config';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { problemsWith } from '../../support/settings.ts';

describe('a setting is read by its declared type', () => {
  const schema = Type.Object({
    PORT: Type.Optional(Type.Integer()),
    RATIO: Type.Optional(Type.Number()),
    STRICT: Type.Optional(Type.Boolean()),
    NAME: Type.Optional(Type.String()),
  });

  it.each([
    ['PORT', '8080', 8080],
    ['PORT', '0', 0],
    ['PORT', '-1', -1],
    ['PORT', '9007199254740991', 9_007_199_254_740_991],
    ['RATIO', '0.25', 0.25],
    ['RATIO', '3', 3],
    ['STRICT', 'true', true],
    ['STRICT', 'false', false],
    ['NAME', '8080', '8080'],
    ['NAME', 'true', 'true'],
    ['NAME', ' as it is ', ' as it is '],
  ])('%s accepts %j', (name, text, value) => {
    expect(readConfig(schema, { [name]: text })).toStrictEqual({ [name]: value });
  });

  it.each(['80a', '8080 ', ' 8080', '+1', '08', '0x1F', '1e3', '1.0', '1_000', '9007199254740993', '٣'])(
    'an integer refuses %j',
    (text) => {
      expect(problemsWith(schema, { PORT: text })).toBe(
        `PORT: expected an integer, got ${JSON.stringify(text)}`,
      );
    },
  );

  it.each(['.5', '1.', '1,5', 'NaN', 'Infinity', '1e3', '0x1F', '1.5 '])('a number refuses %j', (text) => {
    expect(problemsWith(schema, { RATIO: text })).toBe(
      `RATIO: expected a number, got ${JSON.stringify(text)}`,
    );
  });

  it.each(['TRUE', 'True', 'yes', '1', '0', 'on', ' true'])('a boolean refuses %j', (text) => {
    expect(problemsWith(schema, { STRICT: text })).toBe(
      `STRICT: expected true or false, got ${JSON.stringify(text)}`,
    );
  });
});

describe('an absent setting', () => {
  const schema = Type.Object({
    WITH_DEFAULT: Type.Integer({ default: 7 }),
    OPTIONAL: Type.Optional(Type.String()),
  });

  it.each([{}, { WITH_DEFAULT: undefined, OPTIONAL: undefined }, { WITH_DEFAULT: '', OPTIONAL: '' }])(
    'has its default, or is absent: %j',
    (environment) => {
      expect(readConfig(schema, environment)).toStrictEqual({ WITH_DEFAULT: 7 });
    },
  );

  it.each([{}, { NEEDED: '' }])('is a problem where it is required: %j', (environment) => {
    expect(problemsWith(Type.Object({ NEEDED: Type.String() }), environment)).toBe(
      'NEEDED: expected text, but it is not set',
    );
  });
});

describe('the settings as a whole', () => {
  const schema = Type.Object({ ...baseSettings, ...storeSettings, NEEDED: Type.String() });

  const ofStreams = ['NATS_MONITOR_URL', 'STREAM_REPLICAS', 'EVENTS_KEEP_DAYS', 'EVENTS_MAX_BYTES'];
  const ofNats = [...Object.keys(natsSettings), 'NATS_JETSTREAM_DOMAIN', 'NATS_JETSTREAM_PREFIX'];
  const ofTraces = ['ENDPOINT', 'TRACES_ENDPOINT', 'HEADERS'].map((name) => `OTEL_EXPORTER_OTLP_${name}`);
  const optional = new Set([...ofStreams, ...ofNats.filter((name) => name !== 'NATS_URL'), ...ofTraces]);

  it('do not contain unknown variables', () => {
    const settings = readConfig(schema, { NEEDED: 'x', PATH: '/bin', constructor: 'y' });
    expect(Object.keys(settings).toSorted()).toStrictEqual(
      Object.keys(schema.properties)
        .filter((name) => !optional.has(name))
        .toSorted(),
    );
  });

  it('cannot be changed afterwards', () => {
    const settings = readConfig(schema, { NEEDED: 'x' });
    expect(() => Object.assign(settings, { NEEDED: 'y' })).toThrow(TypeError);
    expect(settings.NEEDED).toBe('x');
  });

  it('report every problem together, a line each, in the order of the schema', () => {
    const wrong = {
      NATS_URL: 'http://127.0.0.1:4222',
      STREAM_REPLICAS: '0',
      LOG_LEVEL: 'loud',
      METRICS_PORT: '80a',
      MONGODB_URL: '127.0.0.1:27017',
      MONGODB_DATABASE: 'a.b',
    };
    expect(problemsWith(schema, wrong).split('\n')).toStrictEqual([
      'NATS_URL: expected an address such as nats://127.0.0.1:4222, or several separated by commas, got "http://127.0.0.1:4222"',
      'STREAM_REPLICAS: expected an integer from 1 to 5, got "0"',
      'LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, silent, got "loud"',
      'METRICS_PORT: expected an integer from 0 to 65535, got "80a"',
      'MONGODB_URL: expected an address such as mongodb://127.0.0.1:27017, got "127.0.0.1:27017"',
      'MONGODB_DATABASE: expected a name of 1 to 63 letters, digits, _ or -, got "a.b"',
      'NEEDED: expected text, but it is not set',
    ]);
  });

  it.each([
    ['NATS_URL', 'nats://a:4222,nats://b:4222'],
    ['NATS_URL', 'tls://user:pass@nats.example:4222'],
    ['MONGODB_URL', 'mongodb://user:pass@a:1,b:2/?replicaSet=rs0'],
    ['MONGODB_URL', 'mongodb+srv://cluster.example'],
    ['METRICS_PORT', '65535'],
    ['LOG_LEVEL', 'silent'],
  ])('accept %s = %s', (name, text) => {
    expect(
      String(
        Object.entries(readConfig(schema, { NEEDED: 'x', [name]: text })).find(([key]) => key === name)?.[1],
      ),
    ).toBe(text);
  });

  it('show only a part of a long value', () => {
    expect(problemsWith(schema, { NEEDED: 'x', LOG_LEVEL: 'x'.repeat(101) })).toMatch(/got "x{100}…"$/);
  });
});

describe('a wrong setting is reported', () => {
  it('with only the length of a secret', () => {
    const schema = Type.Object({
      KEY: Type.String({ minLength: 32, expected: 'a long text', secret: true }),
    });
    expect(problemsWith(schema, { KEY: 'hunter2' })).toBe(
      'KEY: expected a long text, got 7 characters that are not shown',
    );
  });

  it('without an address that may have a password', () => {
    const schema = Type.Object(storeSettings);
    expect(problemsWith(schema, { MONGODB_URL: 'mongo://root:hunter2@db' })).toBe(
      'MONGODB_URL: expected an address such as mongodb://127.0.0.1:27017, got 23 characters that are not shown',
    );
  });
});

describe('a rule that one of two settings is needed', () => {
  const schema = Type.Object(
    {
      SECRET: Type.Optional(Type.String({ secret: true })),
      KEYS_PORT: Type.Optional(Type.Integer()),
    },
    {
      anyOf: [{ required: ['SECRET'] }, { required: ['KEYS_PORT'] }],
      expected: 'SECRET or KEYS_PORT',
    },
  );

  it.each([{ SECRET: 'x' }, { KEYS_PORT: '1' }, { SECRET: 'x', KEYS_PORT: '1' }])(
    'holds for %j',
    (environment) => {
      expect(Object.keys(readConfig(schema, environment))).toStrictEqual(Object.keys(environment));
    },
  );

  it('is reported where neither setting has a value', () => {
    expect(problemsWith(schema, {})).toBe('expected SECRET or KEYS_PORT, got none of them');
  });

  it('is not reported where one setting has a wrong value, which has its own message', () => {
    expect(problemsWith(schema, { KEYS_PORT: 'x' })).toBe('KEYS_PORT: expected an integer, got "x"');
  });
});

describe('a table of settings', () => {
  it('has the meaning, the form and the default of each setting', () => {
    const schema = Type.Object({
      PORT: Type.Integer({ default: 8080, minimum: 1, description: 'Where it listens.' }),
      KEY: Type.String({ secret: true, expected: 'the key', description: 'What it knows.' }),
      HINT: Type.Optional(Type.Enum(['a', 'b'])),
    });
    expect(listSettings(schema)).toStrictEqual([
      {
        name: 'PORT',
        description: 'Where it listens.',
        expected: 'an integer of at least 1',
        default: '8080',
        required: false,
        secret: false,
        inFile: false,
      },
      {
        name: 'KEY',
        description: 'What it knows.',
        expected: 'the key',
        default: undefined,
        required: true,
        secret: true,
        inFile: true,
      },
      {
        name: 'HINT',
        description: '',
        expected: 'one of a, b',
        default: undefined,
        required: false,
        secret: false,
        inFile: false,
      },
    ]);
  });

  it('describes every shared setting', () => {
    const settings = listSettings(Type.Object({ ...baseSettings, ...storeSettings }));
    expect(settings.filter(({ description }) => description === '')).toStrictEqual([]);
    expect(settings.filter(({ required }) => required)).toStrictEqual([]);
  });
});
