import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { openDoor } from '@integration-sync/dev/console-door';
import { expect, it } from 'vitest';
import { authSecret, everyScope } from '../support/access-tokens.ts';
import { passDoor } from '../support/door.ts';

// npm run console: an address that opens the console of a stack once, and has no token in it.

const gatewayUrl = 'http://127.0.0.1:4711/sync/';

const environment = { ...process.env, AUTH_JWT_SECRET: authSecret, GATEWAY_URL: gatewayUrl };

/** Runs the command without npm, which takes longer than the command. */
const fail = (args: string[], env: NodeJS.ProcessEnv = environment) =>
  spawnSync(process.execPath, ['dev/console-link.ts', ...args], { env, encoding: 'utf8' });

it('the console command prints one link, which gives a token for an hour with every scope, and ends once the link is opened', async () => {
  const command = spawn('npm', ['run', '--silent', 'console', '--', '--integration', 'other'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(command, 'exit');
  const [link] = await once(createInterface(command.stdout), 'line');
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:4711\/sync\/console#open=\d+\.[\w-]{22}$/);
  const { token, location } = await passDoor(String(link));
  expect(location).toMatch(/^http:\/\/127\.0\.0\.1:4711\/sync\/console#sealed=/);
  expect(location).not.toContain(token);
  const claims: Record<string, unknown> = JSON.parse(
    Buffer.from(String(token?.split('.')[1]), 'base64url').toString(),
  );
  expect(claims).toMatchObject({ integration_id: 'other' });
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(3_600);
  expect(String(claims['scope']).split(' ').toSorted()).toEqual(everyScope.split(' ').toSorted());
  expect(await ended).toEqual([0, null]);
});

it('the console command refuses an invalid lifetime, and prints its usage', () => {
  const { status, stdout, stderr } = fail(['--ttl', 'soon']);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('a ttl looks like 15m');
  expect(stderr).toContain('Usage: npm run --silent console');
});

it('the console command prints no link to a console on another machine', () => {
  const env = { ...environment, GATEWAY_URL: 'https://sync.example.com/sync/' };
  const { status, stdout, stderr } = fail([], env);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('npm run token');
});

const open = (issue = (): string => 'the-token') => openDoor({ page: 'http://127.0.0.1:1/console', issue });

it('the server that a console link opens returns one token, and only for the code in the link', async () => {
  let issued = 0;
  await using door = await open(() => `token-${(issued += 1)}`);
  expect(await passDoor(door.link, { code: 'x'.repeat(22) })).toMatchObject({ status: 410 });
  expect(await passDoor(door.link, { code: '' })).toMatchObject({ status: 410 });
  expect(await passDoor(door.link)).toMatchObject({ status: 303, token: 'token-1' });
  expect(await passDoor(door.link)).toEqual({ status: 410, location: undefined, token: undefined });
  expect(issued).toBe(1);
});

it('the server that a console link opens refuses an invalid public key', async () => {
  await using door = await open();
  expect(await passDoor(door.link, { key: 'nonsense' })).toEqual({
    status: 400,
    location: undefined,
    token: undefined,
  });
});
