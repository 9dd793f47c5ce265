import { baseSettings, parseNatsServers, readConfig } from '@integration-sync/runtime/config';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';

describe('an address of NATS', () => {
  it.each([
    ['nats://127.0.0.1:4222', { servers: ['127.0.0.1:4222'] }],
    ['nats://nats', { servers: ['nats'] }],
    ['nats://[::1]:4222/', { servers: ['[::1]:4222'] }],
    ['nats://a:1,nats://b:2', { servers: ['a:1', 'b:2'] }],
    ['nats://me:hunter2@a:1', { servers: ['a:1'], user: 'me', pass: 'hunter2' }],
    ['nats://me:p%40ss%2C%3A@a:1', { servers: ['a:1'], user: 'me', pass: 'p@ss,:' }],
    ['nats://me:1234@a', { servers: ['a'], user: 'me', pass: '1234' }],
    ['nats://t0ken@a:1', { servers: ['a:1'], token: 't0ken' }],
    ['nats://me:x@a:1,nats://b:2', { servers: ['a:1', 'b:2'], user: 'me', pass: 'x' }],
    ['tls://a:1', { servers: ['a:1'], tls: {} }],
    ['nats://a:1,tls://me:x@b:2', { servers: ['a:1', 'b:2'], user: 'me', pass: 'x', tls: {} }],
  ])('%s is read into its servers', (text, servers) => {
    expect(parseNatsServers(text)).toStrictEqual(servers);
  });

  it.each([
    'nats://h:99999',
    'nats://h:x',
    'nats://',
    'nats://a,',
    'nats://a b',
    'nats://a,b',
    'nats://a/path',
    'ws://a:1',
    'wss://a:1',
    'http://a:1',
    'nats://:pass@a:1',
    'nats://me:100%@a:1',
    'nats://me:x@a:1,nats://you:y@b:2',
  ])('%s is a wrong setting', (text) => {
    const read = () => readConfig(Type.Object({ NATS_URL: baseSettings.NATS_URL }), { NATS_URL: text });
    expect(read).toThrow('NATS_URL: expected an address such as nats://127.0.0.1:4222');
  });
});

describe('an address of a web server', () => {
  const schema = Type.Object({ NATS_MONITOR_URL: baseSettings.NATS_MONITOR_URL });

  it.each(['http://127.0.0.1:8222', 'https://nats.example/monitor', 'HTTP://nats:8222/'])(
    '%s is valid',
    (text) => {
      expect(readConfig(schema, { NATS_MONITOR_URL: text })).toEqual({ NATS_MONITOR_URL: text });
    },
  );

  it.each([
    'mailto:x',
    'nats:8222',
    'ftp://nats:8222',
    'http:nats',
    'http://[',
    'http://nats:99999',
    'http://me:hunter2@nats:8222',
    'http://me@nats:8222',
  ])('%s is invalid', (text) => {
    expect(() => readConfig(schema, { NATS_MONITOR_URL: text })).toThrow(
      /^NATS_MONITOR_URL: expected an address such as (?!.*hunter2)/,
    );
  });
});
