// Operators' commands on a nats-server with users: what they say where their login lacks a permission, and that they run as
// docs/operating.md says.
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { makeClusterSecrets, readCompose, readSecret, toldBy } from '../../support/compose.ts';
import { repository } from '../../support/deploy-files.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { natsConfFile, startNatsWithUsers, users, type User } from '../../support/nats-users.ts';
import { startOps, type Ended } from '../../support/ops.ts';
import { secretKey } from '../../support/webhooks.ts';

const engines = () => ({
  MONGODB_URL: inject('engines').mongodb,
  MONGODB_DATABASE: `ops_${randomUUID().replaceAll('-', '')}`,
  WEBHOOK_SECRET_KEY: secretKey,
});

function expectLack({ code, stdout, stderr }: Ended, ...words: readonly string[]): void {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  for (const some of words) expect(stderr).toContain(some);
  expect(stderr).toContain('In deploy/nats/nats.conf the user "ops" has this permission.');
  expect(stderr.split('\n')).toHaveLength(1);
}

test('with the login of a service an ops command names the missing permission, and a login with this permission', async () => {
  await using nats = await startNatsWithUsers();
  const ended = await startOps(['streams', '--apply'], { NATS_URL: nats.urlOf('webhooks') }).ended;
  expectLack(
    ended,
    `does not let the login "webhooks" publish to $JS.API.STREAM.CREATE.EVENTS.`,
    'Run this command with the login of that user in NATS_URL.',
  );
}, 60_000);

test.each([
  ['$JS.API.STREAM.LIST', ['streams']],
  ['$JS.API.STREAM.CREATE.EVENTS', ['streams', '--apply']],
  ['svc.webhooks.health.keys', ['reseal', '--apply']],
] as const)(
  'a command whose login may not publish to %s stops and names the subject',
  async (subject, args) => {
    await using folder = await temporaryFolder();
    const whole = await readFile(natsConfFile, 'utf8');
    const [before = '', after = '', ...others] = whole.split('password: $NATS_OPS_PASSWORD');
    expect(others).toEqual([]);
    const conf = join(folder.path, 'nats.conf');
    const denied = `password: $NATS_OPS_PASSWORD, permissions: { publish: { deny: "${subject}" } }`;
    await writeFile(conf, before + denied + after);
    await using nats = await startNatsWithUsers(conf);
    const ended = await startOps(args, { ...engines(), NATS_URL: nats.urlOf('ops') }).ended;
    expectLack(
      ended,
      `does not let the login "ops" publish to ${subject}.`,
      'Give the login all permissions',
    );
  },
  60_000,
);

test('the documented ops commands run with the settings and secrets of compose.cluster.yml', async () => {
  await using folder = await temporaryFolder();
  await makeClusterSecrets(folder.path);
  const passwords = await readFile(join(folder.path, 'nats-passwords'), 'utf8');
  const passwordOf = (user: User): [User, string] => {
    const [, password = ''] =
      new RegExp(`^NATS_${user.toUpperCase()}_PASSWORD=(.+)$`, 'm').exec(passwords) ?? [];
    return [user, password];
  };
  await using nats = await startNatsWithUsers(natsConfFile, new Map(users.map(passwordOf)));

  const { ops = { image: '' } } = (await readCompose('compose.cluster.yml')).services;
  const told = await toldBy(ops, (name) => readSecret(folder.path, name));
  expect(told['NATS_URL']).toMatch(/^nats:\/\/ops:\w+@nats-1:4222,/);
  const environment = {
    ...told,
    ...engines(),
    WEBHOOK_SECRET_KEY: told['WEBHOOK_SECRET_KEY'] ?? '',
    // Of the machine that this test runs on: its nats-server has one address, no monitor by that name, and no copies.
    NATS_URL: (told['NATS_URL'] ?? '').replace(/@.*/, `@${new URL(nats.engine.url).host}`),
    NATS_MONITOR_URL: '',
    STREAM_REPLICAS: '1',
  };
  const page = await readFile(join(repository, 'docs/operating.md'), 'utf8');
  const commands = [...page.matchAll(/^docker compose .*run --rm ops (.+?)(?: +#.*)?$/gm)].map(
    ([, line = '']) => line,
  );
  expect(commands.length).toBeGreaterThanOrEqual(4);
  for (const command of commands) {
    const ended = await startOps(command.split(' '), environment).ended;
    expect({ command, ...ended }).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('permission'),
    });
  }
}, 120_000);
