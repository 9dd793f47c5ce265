import { GatewayConfig } from '@integration-sync/gateway/config';
import { readConfig } from '@integration-sync/runtime/config';
import { expect, it } from 'vitest';

const secret = 'x'.repeat(32);
const issuer = { AUTH_ISSUER: 'https://login.example.com/', AUTH_AUDIENCE: 'sync' };

it('AUTH_CLIENTS_FILE may be set alone, or beside a JWT secret or a key set', () => {
  const file = { AUTH_CLIENTS_FILE: '/run/secrets/clients.json' };
  const keys = { AUTH_JWKS_URL: 'https://login.example.com/keys' };
  for (const beside of [{}, { AUTH_JWT_SECRET: secret }, keys]) {
    expect(readConfig(GatewayConfig, { ...file, ...beside })).toMatchObject({ ...file, ...beside });
  }
});

it('the gateway needs a JWT secret, a key set or an issuer', () => {
  expect(readConfig(GatewayConfig, { AUTH_JWT_SECRET: secret })).toMatchObject({
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: 8080,
    BODY_BYTES_MAX: 5 * 1024 * 1024,
    RATE_LIMIT_REQUESTS: 0,
    AUTH_SCOPE_CLAIM: 'scope',
  });
  expect(readConfig(GatewayConfig, { AUTH_JWKS_URL: 'https://login.example.com/keys' })).toBeDefined();
  expect(readConfig(GatewayConfig, issuer)).toBeDefined();
});

it.each([
  { AUTH_JWT_SECRET: `${secret},${'y'.repeat(32)}` },
  { AUTH_JWT_SECRET: 'ä'.repeat(16) },
  { AUTH_JWT_SECRET: secret, AUTH_ISSUER: 'local' },
  { AUTH_JWKS_URL: 'https://login.example.com/keys', AUTH_ISSUER: 'no address' },
  { ...issuer, AUTH_ISSUER: 'http://127.0.0.1:8080/realms/one' },
  { ...issuer, AUTH_INTEGRATION_CLAIM: 'https://example.com/tenant' },
  { ...issuer, AUTH_SCOPE_CLAIM: '/resource_access/sync~1one/roles' },
  { ...issuer, AUTH_INTEGRATIONS: 'a=acme, b=acme ,x@clients=rival,k=v=acme' },
  { AUTH_JWT_SECRET: secret, AUTH_AUDIENCE: 'sync', AUTH_INTEGRATIONS: 'a=acme' },
])('the settings %j are valid', (environment) => {
  expect(readConfig(GatewayConfig, environment)).toMatchObject(environment);
});

it.each([
  [{}, 'one of AUTH_JWT_SECRET, AUTH_JWKS_URL, AUTH_ISSUER and AUTH_CLIENTS_FILE, got none of them'],
  [
    { AUTH_JWT_SECRET: secret, AUTH_JWKS_URL: 'https://login.example.com/keys' },
    'expected exactly one of AUTH_JWT_SECRET and AUTH_JWKS_URL, got AUTH_JWT_SECRET and AUTH_JWKS_URL',
  ],
  [
    { AUTH_JWT_SECRET: 'x'.repeat(31) },
    'AUTH_JWT_SECRET: expected at least 32 bytes, and no key in PEM (public keys are taken from AUTH_JWKS_URL), got 31 characters that are not shown',
  ],
  [
    { AUTH_JWT_SECRET: `-----BEGIN PUBLIC KEY-----\n${secret}\n-----END PUBLIC KEY-----` },
    /^AUTH_JWT_SECRET: expected at least 32 bytes, and no key in PEM .*, got \d+ characters that are not shown$/,
  ],
  [
    { AUTH_JWT_SECRET: `${'x'.repeat(40)},${'y'.repeat(31)}` },
    'AUTH_JWT_SECRET: a comma separates two secrets, each of at least 32 bytes, without white space around them and ' +
      'no key in PEM; got parts of 40 and 31 bytes. A secret that holds a comma itself must be replaced.',
  ],
  [{ AUTH_JWT_SECRET: `${secret},` }, 'a comma separates two secrets'],
  [{ AUTH_JWT_SECRET: `,${secret}` }, 'a comma separates two secrets'],
  [{ AUTH_JWT_SECRET: `${secret}, ${secret}` }, 'a comma separates two secrets'],
  [{ AUTH_JWT_SECRET: `${secret},${secret},${secret}` }, 'a comma separates two secrets'],
  [{ AUTH_JWT_SECRET: `${secret},-----BEGIN PUBLIC KEY-----\n${secret}` }, 'a comma separates two secrets'],
  [{ AUTH_ISSUER: 'https://login.example.com' }, 'AUTH_AUDIENCE: needed where AUTH_ISSUER finds the keys'],
  [{ AUTH_JWT_SECRET: secret, AUTH_INTEGRATIONS: 'a=acme' }, 'AUTH_AUDIENCE: needed with AUTH_INTEGRATIONS'],
  [
    { AUTH_JWKS_URL: 'https://login.example.com/keys', AUTH_ISSUER: 'x', AUTH_INTEGRATIONS: 'a=acme' },
    'AUTH_AUDIENCE: needed with AUTH_INTEGRATIONS',
  ],
  [{ ...issuer, AUTH_ISSUER: 'login.example.com' }, 'AUTH_ISSUER: expected an address such as'],
  [{ ...issuer, AUTH_ISSUER: 'https://login.example.com/?a=b' }, 'AUTH_ISSUER: expected an address such as'],
  [{ ...issuer, AUTH_ISSUER: 'https://login.example.com/#a' }, 'AUTH_ISSUER: expected an address such as'],
  [
    { ...issuer, AUTH_ISSUER: 'https://me:hunter2@login.example.com/' },
    /^AUTH_ISSUER: expected an address such as [^@]*$/,
  ],
  [{ ...issuer, AUTH_SCOPE_CLAIM: '/roles/~2' }, 'AUTH_SCOPE_CLAIM: expected the name of a claim, or a JSON'],
  [{ ...issuer, AUTH_INTEGRATION_CLAIM: '/~' }, 'AUTH_INTEGRATION_CLAIM: expected the name of a claim, or'],
  [
    { ...issuer, AUTH_INTEGRATION_CLAIM: 'tenant', AUTH_INTEGRATIONS: 'a=acme' },
    'AUTH_INTEGRATIONS, AUTH_INTEGRATION_CLAIM: expected one of them, got both',
  ],
  ...['a', '=acme', 'a=', 'a=acme,', 'a=acme,a=rival', 'a=ac me', 'a=acme;b=rival', 'a=acme,,b=acme'].map(
    (text): [Record<string, string>, string] => [
      { ...issuer, AUTH_INTEGRATIONS: text },
      'AUTH_INTEGRATIONS: expected client ids and integrations such as erp-job=acme,shop-job=rival, each client once',
    ],
  ),
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
])('the settings %j are refused with a reason', (environment, words) => {
  expect(() => readConfig(GatewayConfig, environment)).toThrow(words);
});

it.each(['', '/sync', '/a/b-c/~d_e.f'])('PUBLIC_BASE_PATH may be %j', (path) => {
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
])('PUBLIC_BASE_PATH may not be %j', (path) => {
  expect(() => readConfig(GatewayConfig, { AUTH_JWT_SECRET: secret, PUBLIC_BASE_PATH: path })).toThrow(
    'PUBLIC_BASE_PATH: expected a path such as /sync',
  );
});
