import { openLog, redactUrl, type LogOptions } from '@integration-sync/runtime/log';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { urgentLines } from '../../../shared/runtime/src/urgent-lines.ts';

function openRecorded(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = openLog({ service: 'catalog', level: 'info', pretty: false, destination, ...options });
  return { log, lines, last: (): unknown => JSON.parse(lines.at(-1) ?? 'null') };
}

describe('a log line', () => {
  it('is one JSON object with its level, time and service', () => {
    const { log, lines, last } = openRecorded();
    log.warn({ items: 3 }, 'pushed');
    expect(lines).toHaveLength(1);
    expect(last()).toStrictEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      service: 'catalog',
      items: 3,
      msg: 'pushed',
    });
  });

  it('is not written below the level', () => {
    const { log, lines } = openRecorded({ level: 'warn' });
    log.info('quiet');
    expect(lines).toStrictEqual([]);
  });

  it('is one line of text for people', () => {
    const { log, lines } = openRecorded({ pretty: true });
    log.info({ items: 3 }, 'pushed');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/INFO.*catalog: pushed.*"items":3/s);
    expect(lines[0]?.trimEnd()).not.toContain('\n');
  });
});

/** The messages of the service that its process keeps. */
const kept = (service: string): string[] =>
  urgentLines()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .flatMap((line) => (line.service === service ? [line.msg] : []));

describe('an error stays in the memory of its process', () => {
  it('although many ordinary lines and warnings follow', () => {
    const { log } = openRecorded({ service: 'flooded' });
    log.error({ url: 'https://user:hunter2@acme.example/' }, 'the error');
    for (let line = 0; line < 20_000; line += 1) {
      log.info({ line }, 'ordinary');
      log.warn({ line }, 'warning');
    }
    const lines = kept('flooded');
    expect(lines[0]).toBe('the error');
    expect(lines.filter((line) => line === 'ordinary')).toEqual([]);
    expect(lines.filter((line) => line === 'warning').length).toBeGreaterThan(1_000);
    expect(urgentLines().length).toBeLessThan(3 * 256 * 1_024);
    expect(urgentLines()).not.toContain('hunter2');
  });

  it('in order with the warnings around it, also where the log is formatted for people', () => {
    const { log } = openRecorded({ service: 'read', pretty: true });
    log.warn('first');
    log.error('second');
    log.warn('third');
    expect(kept('read')).toEqual(['first', 'second', 'third']);
  });
});

describe('nothing secret leaves through a log line', () => {
  const secrets = {
    authorization: 'hunter2',
    cookie: 'hunter2',
    'set-cookie': ['hunter2'],
    password: 'hunter2',
    secret: 'hunter2',
    previousSecret: 'hunter2',
    token: 'hunter2',
    accessToken: 'hunter2',
    AUTH_JWT_SECRET: 'hunter2',
  };

  it.each([
    ['at the top', secrets],
    ['one level down', { headers: secrets }],
    ['two levels down', { request: { headers: secrets } }],
    ['far down, in an array', { a: { b: [{ c: { d: { e: secrets } } }] } }],
  ])('under the name of a secret: %s', (_where, fields) => {
    for (const pretty of [false, true]) {
      const { log, lines } = openRecorded({ pretty });
      log.info(fields, 'line');
      log.child(fields).info('child');
      expect(lines.join('')).not.toContain('hunter2');
      expect(lines.join('').split('[secret]')).toHaveLength(2 * Object.keys(secrets).length + 1);
    }
  });

  it('for any secret in any text', () => {
    const key = fc.constantFrom('token', 'SESSION_TOKEN', 'name', 'a":"b', 'token":"');
    const text = fc.oneof(fc.string(), fc.constantFrom('\\', '"', '"token":"x"', ']', '\n', 'token'));
    const { fields } = fc.letrec((tie) => ({
      value: fc.oneof(text, fc.integer(), fc.array(text), tie('fields')),
      fields: fc.dictionary(key, tie('value')),
    }));
    fc.assert(
      fc.property(fields, text, (logged, message) => {
        const { log, last } = openRecorded();
        log.info({ logged }, message);
        expect(last()).toMatchObject({ logged: blanked(logged), msg: message });
      }),
    );
  });

  it('but words that resemble names of secrets stay', () => {
    const { log, last } = openRecorded();
    log.info({ tokens: 3, secretId: 'a', headers: { 'content-type': 'b' } });
    expect(last()).toMatchObject({ tokens: 3, secretId: 'a', headers: { 'content-type': 'b' } });
  });

  it('but the logged object stays unchanged', () => {
    const { log } = openRecorded();
    const fields = { token: 'hunter2', deep: { secret: 'hunter2' } };
    log.info(fields);
    expect(fields).toStrictEqual({ token: 'hunter2', deep: { secret: 'hunter2' } });
  });

  it('not even credentials in an address anywhere in the line', () => {
    const url = 'mongodb://root:hunter2@db:27017/x';
    for (const pretty of [false, true]) {
      const { log, lines } = openRecorded({ pretty });
      log.info({ url, deep: { er: { and: { deeper: [url] } } } }, `connecting to ${url}`);
      log.error({ err: new Error(`cannot reach ${url}`, { cause: new Error(url) }) }, 'failed');
      expect(lines.join('')).not.toContain('hunter2');
      expect(lines.join('')).toContain('mongodb://***@db:27017/x');
    }
  });
});

/** The same rule, over the value instead of the line. */
function blanked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([key, held]): [string, unknown] => {
    const secret = /token$/i.test(key) && (typeof held === 'string' || Array.isArray(held));
    return [key, secret ? '[secret]' : blanked(held)];
  });
  return Object.fromEntries(entries);
}

describe('credentials are cut from an address', () => {
  it.each([
    ['mongodb://user:pass@host/db', 'mongodb://***@host/db'],
    ['mongodb+srv://user:p%40ss@a,b/?x=1', 'mongodb+srv://***@a,b/?x=1'],
    ['nats://token@host:4222', 'nats://***@host:4222'],
    ['nats://u:p@a:1,nats://u:p@b:2', 'nats://***@a:1,nats://***@b:2'],
    ['mongodb://user:p@ss@host/db', 'mongodb://***@host/db'],
  ])('such as %s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });

  it.each(['https://host/@name', 'https://host/?mail=a@b.c', 'a@b.c', 'mongodb://host:27017/db'])(
    'and other text stays unchanged: %s',
    (text) => {
      expect(redactUrl(text)).toBe(text);
    },
  );
});

describe('an error in a log line', () => {
  it('has its name, message, code, stack and the chain of its causes', () => {
    const { log, last } = openRecorded();
    const root = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    log.error({ err: new TypeError('outer', { cause: new Error('middle', { cause: root }) }) }, 'failed');
    expect(last()).toMatchObject({
      err: {
        type: 'TypeError',
        message: 'outer',
        stack: expect.stringContaining('log.test.ts'),
        cause: { message: 'middle', cause: { message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' } },
      },
    });
  });

  it('leaves out further properties of the error', () => {
    const { log, lines } = openRecorded();
    log.error({ err: Object.assign(new Error('duplicate'), { document: { email: 'maria@farm.example' } }) });
    expect(lines.join('')).not.toContain('maria');
  });

  it('ends a chain of causes that never ends', () => {
    const { log, last } = openRecorded();
    const error = new Error('round');
    error.cause = error;
    log.error({ err: error }, 'failed');
    expect(last()).toMatchObject({ err: { message: 'round' }, msg: 'failed' });
  });

  it('may be any thrown value', () => {
    const { log, last } = openRecorded();
    log.error({ err: 'just text' });
    expect(last()).toMatchObject({ err: { type: 'string', message: 'just text' } });
  });
});
