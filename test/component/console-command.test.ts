import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { openDoor } from '@integration-sync/dev/console-door';
import { expect, it } from 'vitest';
import { authSecret, everyScope } from '../support/access-tokens.ts';
import { passDoor } from '../support/door.ts';

// npm run console: an address that opens the console of a stack once, and has no token in it.

const gatewayUrl = 'http://127.0.0.1:4711/sync/';

const run = (args: string[], gateway = gatewayUrl) =>
  spawn('npm', ['run', '--silent', 'console', '--', ...args], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: { ...process.env, AUTH_JWT_SECRET: authSecret, GATEWAY_URL: gateway },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

it('the console command prints one link, which gives a token for an hour with every scope, and ends once the link is opened', async () => {
  const command = run(['--integration', 'other']);
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

it('the console command refuses an invalid lifetime, and prints its usage', async () => {
  const command = run(['--ttl', 'soon']);
  const [stdout, stderr, [code]] = await Promise.all([
    text(command.stdout),
    text(command.stderr),
    once(command, 'exit'),
  ]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('a ttl looks like 15m');
  expect(stderr).toContain('Usage: npm run --silent console');
});

it('the console command prints no link to a console on another machine', async () => {
  const command = run([], 'https://sync.example.com/sync/');
  const [stdout, stderr, [code]] = await Promise.all([
    text(command.stdout),
    text(command.stderr),
    once(command, 'exit'),
  ]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('npm run token');
});

const open = (issue = (): string => 'the-token') => openDoor({ page: 'http://127.0.0.1:1/console', issue });

it('the server behind a console link returns one token, and only for the code in the link', async () => {
  let issued = 0;
  await using door = await open(() => `token-${(issued += 1)}`);
  expect(await passDoor(door.link, { code: 'x'.repeat(22) })).toMatchObject({ status: 410 });
  expect(await passDoor(door.link, { code: '' })).toMatchObject({ status: 410 });
  expect(await passDoor(door.link)).toMatchObject({ status: 303, token: 'token-1' });
  expect(await passDoor(door.link)).toEqual({ status: 410, location: undefined, token: undefined });
  expect(issued).toBe(1);
});

it('the server behind a console link refuses an invalid public key', async () => {
  await using door = await open();
  expect(await passDoor(door.link, { key: 'nonsense' })).toEqual({
    status: 400,
    location: undefined,
    token: undefined,
  });
});
