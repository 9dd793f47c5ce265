import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { authSecret, everyScope } from '../support/access-tokens.ts';

// npm run console: an address that opens the console of a stack.

interface Printed {
  stdout: string;
  stderr: string;
  code?: number;
}

const print = (...args: string[]): Promise<Printed> =>
  promisify(execFile)('npm', ['run', '--silent', 'console', '--', ...args], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: { ...process.env, AUTH_JWT_SECRET: authSecret, GATEWAY_URL: 'https://sync.example.com/sync/' },
  }).catch((error: Printed) => error);

it('prints one address, with a token for an hour and every scope in its fragment', async () => {
  const { stdout } = await print('--integration', 'other');
  const { payload } =
    /^https:\/\/sync\.example\.com\/sync\/console#token=[\w-]+\.(?<payload>[\w-]+)\.[\w-]+\n$/.exec(stdout)
      ?.groups ?? {};
  const claims: Record<string, unknown> = JSON.parse(Buffer.from(String(payload), 'base64url').toString());
  expect(claims).toMatchObject({ integration_id: 'other' });
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(3_600);
  expect(String(claims['scope']).split(' ').toSorted()).toEqual(everyScope.split(' ').toSorted());
});

it('refuses a time that is none, and says how to ask', async () => {
  const printed = await print('--ttl', 'soon');
  expect(printed).toMatchObject({ code: 1, stdout: '' });
  expect(printed.stderr).toContain('a ttl looks like 15m');
  expect(printed.stderr).toContain('Usage: npm run --silent console');
});
