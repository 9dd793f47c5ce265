import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { authSecret, everyScope } from '../support/access-tokens.ts';

const root = resolve(import.meta.dirname, '../..');

interface Printed {
  stdout: string;
  stderr: string;
  code?: number;
}

const print = (...args: string[]): Promise<Printed> =>
  promisify(execFile)('npm', ['run', '--silent', 'token', '--', ...args], {
    cwd: root,
    env: { ...process.env, AUTH_JWT_SECRET: authSecret, AUTH_ISSUER: 'local', AUTH_AUDIENCE: '' },
  }).catch((error: Printed) => error);

function claimsOf({ stdout }: Printed): Record<string, unknown> {
  const [, body = '', ...rest] = stdout.split('.');
  expect(rest).toHaveLength(1);
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
}

it('the token command prints a token with every scope for an hour, and nothing else', async () => {
  const printed = await print('--integration', 'acme');
  expect(printed.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const claims = claimsOf(printed);
  expect(claims).toMatchObject({ integration_id: 'acme', iss: 'local' });
  expect(claims).not.toHaveProperty('aud');
  expect(String(claims['scope']).split(' ').toSorted()).toEqual(everyScope.split(' ').toSorted());
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(3_600);
});

it('the token command prints a token with the scope and the lifetime of its arguments', async () => {
  const claims = claimsOf(
    await print('--integration', 'acme', '--scope', 'integration:suppliers:write', '--ttl', '15m'),
  );
  expect(claims['scope']).toBe('integration:suppliers:write');
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(900);
});

it.each([
  [['--integration', 'a b'], 'an integration is 1 to 64 letters'],
  [['--ttl', 'soon'], 'a ttl looks like 15m'],
  [['--ttl', '25h'], 'no token that lives for more than 24 h'],
  [['--scopes', 'x'], "Unknown option '--scopes'"],
])('the token command refuses %j with its usage, and prints no token', async (args, words) => {
  const printed = await print(...args);
  expect(printed).toMatchObject({ code: 1, stdout: '' });
  expect(printed.stderr).toContain(words);
  expect(printed.stderr).toContain('Usage: npm run --silent token');
});
