import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { authSecret, everyScope } from '../support/access-tokens.ts';

const npm = ['npm', 'run', '--silent', 'token', '--'] as const;

/** By Node alone unless by npm, which takes longer than the command. */
function print(args: string[], by: readonly [string, ...string[]] = [process.execPath, 'dev/token.ts']) {
  const [program, ...before] = by;
  const env = { ...process.env, AUTH_JWT_SECRET: authSecret, AUTH_ISSUER: 'local', AUTH_AUDIENCE: '' };
  return spawnSync(program, [...before, ...args], { env, encoding: 'utf8' });
}

function claimsOf({ stdout }: { stdout: string }): Record<string, unknown> {
  const [, body = '', ...rest] = stdout.split('.');
  expect(rest).toHaveLength(1);
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
}

it('the token command prints a token with every scope for an hour, and nothing else', () => {
  const printed = print(['--integration', 'acme'], npm);
  expect(printed.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const claims = claimsOf(printed);
  expect(claims).toMatchObject({ integration_id: 'acme', iss: 'local' });
  expect(claims).not.toHaveProperty('aud');
  expect(String(claims['scope']).split(' ').toSorted()).toEqual(everyScope.split(' ').toSorted());
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(3_600);
});

it('the token command prints a token with the scope and the lifetime of its arguments', () => {
  const claims = claimsOf(
    print(['--integration', 'acme', '--scope', 'integration:suppliers:write', '--ttl', '15m']),
  );
  expect(claims['scope']).toBe('integration:suppliers:write');
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(900);
});

it.each([
  [['--integration', 'a b'], 'an integration is 1 to 64 letters'],
  [['--ttl', 'soon'], 'a ttl looks like 15m'],
  [['--ttl', '25h'], 'no token that lives for more than 24 h'],
  [['--scopes', 'x'], "Unknown option '--scopes'"],
])('the token command refuses %j with its usage, and prints no token', (args, words) => {
  const printed = print(args);
  expect(printed).toMatchObject({ status: 1, stdout: '' });
  expect(printed.stderr).toContain(words);
  expect(printed.stderr).toContain('Usage: npm run --silent token');
});
