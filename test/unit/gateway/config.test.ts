import { GatewayConfig } from '@integration-sync/gateway/config';
import { readConfig } from '@integration-sync/runtime/config';
import { expect, it } from 'vitest';

const secret = 'x'.repeat(32);

it('takes a file of clients alone, or beside a secret or a key set', () => {
  const file = { AUTH_CLIENTS_FILE: '/run/secrets/clients.json' };
  const keys = { AUTH_JWKS_URL: 'https://login.example.com/keys' };
  for (const beside of [{}, { AUTH_JWT_SECRET: secret }, keys]) {
    expect(readConfig(GatewayConfig, { ...file, ...beside })).toMatchObject({ ...file, ...beside });
  }
});

it('needs a secret or a key set, and nothing else', () => {
  expect(readConfig(GatewayConfig, { AUTH_JWT_SECRET: secret })).toMatchObject({
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: 8080,
    BODY_BYTES_MAX: 5 * 1024 * 1024,
    RATE_LIMIT_REQUESTS: 0,
  });
  expect(readConfig(GatewayConfig, { AUTH_JWKS_URL: 'https://login.example.com/keys' })).toBeDefined();
});

it.each([
  [
    {},
    'exactly one of AUTH_JWT_SECRET and AUTH_JWKS_URL, or AUTH_CLIENTS_FILE, alone or beside either, got none of them',
  ],
  [
    { AUTH_JWT_SECRET: secret, AUTH_JWKS_URL: 'https://login.example.com/keys' },
    'alone or beside either, got AUTH_JWT_SECRET and AUTH_JWKS_URL',
  ],
  [
    {
      AUTH_JWT_SECRET: secret,
      AUTH_JWKS_URL: 'https://login.example.com/keys',
      AUTH_CLIENTS_FILE: '/clients.json',
    },
    'alone or beside either, got AUTH_JWT_SECRET and AUTH_JWKS_URL and AUTH_CLIENTS_FILE',
  ],
  [
    { AUTH_JWT_SECRET: 'x'.repeat(31) },
    'AUTH_JWT_SECRET: expected at least 32 bytes, and no key in PEM (public keys are taken from AUTH_JWKS_URL), got 31 characters that are not shown',
  ],
  [
    { AUTH_JWT_SECRET: `-----BEGIN PUBLIC KEY-----\n${secret}\n-----END PUBLIC KEY-----` },
    /^AUTH_JWT_SECRET: expected at least 32 bytes, and no key in PEM .*, got \d+ characters that are not shown$/,
  ],
  [{ AUTH_JWKS_URL: 'file:///etc/passwd' }, 'AUTH_JWKS_URL: expected an address'],
  [{ AUTH_JWKS_URL: 'http://[' }, 'AUTH_JWKS_URL: expected an address'],
  [
    { AUTH_JWKS_URL: 'https://me:hunter2@login.example.com/keys' },
    /^AUTH_JWKS_URL: expected an address such as .*, without user and password, got \d+ characters that are not shown$/,
  ],
  [
    { AUTH_JWT_SECRET: secret, GATEWAY_PORT: '80a' },
    'GATEWAY_PORT: expected an integer from 0 to 65535, got "80a"',
  ],
  [{ AUTH_JWT_SECRET: secret, BODY_BYTES_MAX: '10' }, 'BODY_BYTES_MAX: expected an integer from 1024'],
])('refuses %j and says why', (environment, words) => {
  expect(() => readConfig(GatewayConfig, environment)).toThrow(words);
});

it.each(['', '/sync', '/a/b-c/~d_e.f'])('takes %j as the public base path', (path) => {
  const config = readConfig(GatewayConfig, { AUTH_JWT_SECRET: secret, PUBLIC_BASE_PATH: path });
  expect(config.PUBLIC_BASE_PATH).toBe(path);
});

it.each([
  'sync',
  '/',
  '/sync/',
  '//elsewhere.example',
  '/a/../b',
  '/.',
  '/a b',
  '/a>',
  'https://elsewhere.example',
])('refuses %j as what callers see before the paths', (path) => {
  expect(() => readConfig(GatewayConfig, { AUTH_JWT_SECRET: secret, PUBLIC_BASE_PATH: path })).toThrow(
    'PUBLIC_BASE_PATH: expected a path such as /sync',
  );
});
