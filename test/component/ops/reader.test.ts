import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { Engine } from '@integration-sync/dev/engines';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startNats } from '../../support/nats.ts';
import { runOps, type Ended } from '../../support/ops.ts';

// The consumer of another service inside: where it begins, what changes of one that is there, and what does not.

let engine: Engine;
let nats: NatsConnection;
let manager: JetStreamManager;
let name: string;
let count = 0;

const ops = (...args: string[]): Promise<Ended> =>
  runOps(['reader', name, ...args], { NATS_URL: engine.url });
const configOf = async () => (await manager.consumers.info('EVENTS', name)).config;

beforeAll(async () => {
  engine = await startNats();
  nats = await connect({ servers: engine.url });
  manager = await jetstreamManager(nats);
  await runOps(['streams', '--apply'], { NATS_URL: engine.url });
  for (const integration of ['acme', 'other', 'acme'])
    await jetstream(nats).publish(`events.${integration}.supplier.created`, '{}');
  await manager.streams.purge('EVENTS', { seq: 2 });
});
afterAll(async () => {
  await nats.close();
  await engine[Symbol.asyncDispose]();
});
beforeEach(() => {
  count += 1;
  name = `reader-${count}`;
});

it('ops reader --since begins at a sequence or after a time, and reports expired events', async () => {
  expect(await ops('--since', '3', '--apply')).toMatchObject({
    code: 0,
    stdout: `EVENTS has the consumer ${name}.\n`,
  });
  expect(await configOf()).toMatchObject({ deliver_policy: 'by_start_sequence', opt_start_seq: 3 });
  expect(await ops('--since', '3', '--apply')).toMatchObject({ code: 0 });
  name += '-time';
  const gone = `EVENTS has no event from then any more: the consumer begins with the oldest, 2.\nEVENTS has the consumer ${name}.\n`;
  expect(await ops('--since', '2026-01-01', '--apply')).toMatchObject({ code: 0, stdout: gone });
  expect(await configOf()).toMatchObject({
    deliver_policy: 'by_start_time',
    opt_start_time: expect.stringMatching(/^2026-01-01T00:00:00/),
  });
  expect(await ops('--since', '2026-01-01T00:00:00.000Z', '--apply')).toMatchObject({ code: 0 });
  name += '-early';
  expect(await ops('--since', '1')).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('with the oldest, 2.'),
  });
});

it('ops reader --since refuses a future time, a future sequence and an invalid value', async () => {
  const future = new Date(Date.now() + 60_000).toISOString();
  for (const [since, words] of [
    [future, 'is in the future'],
    ['5', 'the last event of EVENTS has the sequence 3'],
    ['0', 'the first sequence is 1'],
    ['yesterday', 'not "yesterday"'],
    ['2026-02-30', 'not "2026-02-30"'],
    ['', 'not ""'],
  ] as const)
    expect(await ops('--since', since, '--apply')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(words),
    });
  expect((await ops()).stdout).toBe(`EVENTS has no consumer ${name}: --apply makes it.\n`);
});

it('ops reader with --from-start or --since has exit code 2 for an existing consumer, and changes nothing', async () => {
  await ops('--subject', 'events.acme.>', '--apply');
  const before = await configOf();
  for (const place of [['--from-start'], ['--since', '2'], ['--since', '2026-01-01']])
    for (const applied of [[], ['--apply']])
      expect(await ops(...place, '--subject', 'events.other.>', ...applied)).toMatchObject({
        code: 2,
        stdout: expect.not.stringContaining('has the consumer'),
        stderr: expect.stringContaining(`EVENTS has the consumer ${name}, which goes on at event `),
      });
  expect(await configOf()).toEqual(before);
});

it('ops reader changes subjects and --inactive of an existing consumer, and keeps its other settings', async () => {
  await ops('--subject', 'events.acme.>', '--inactive', '8', '--apply');
  expect(await configOf()).toMatchObject({
    filter_subjects: ['events.acme.>'],
    inactive_threshold: 8 * 24 * 3_600e9,
  });
  expect(await ops('--subject', 'events.other.>')).toMatchObject({
    code: 3,
    stdout: `EVENTS has the consumer ${name}, which differs in filter_subjects: --apply changes it.\n`,
  });
  expect(await ops('--inactive', '2', '--apply')).toMatchObject({ code: 0 });
  expect(await configOf()).toMatchObject({
    filter_subjects: ['events.acme.>'],
    inactive_threshold: 2 * 24 * 3_600e9,
  });
  expect(await ops()).toMatchObject({ code: 0 });
  for (const days of ['0', '366', 'x', '-1', '1.5'])
    expect(await ops(`--inactive=${days}`)).toMatchObject({ code: 2 });
});

it('ops reader refuses an invalid subject, and says which subjects NATS refuses', async () => {
  for (const subject of [
    'events',
    'events.',
    'events.a..b',
    'events.>.b',
    'events.a b',
    'events.a*',
    'even.>',
  ])
    expect(await ops('--subject', subject, '--apply')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--subject: expected `),
    });
  const refused = await ops('--subject', 'events.acme.>', '--subject', 'events.acme.dds.*', '--apply');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/^NATS refuses the consumer reader-\d+: .*overlap$/m);
  expect(refused.stderr).not.toContain('    at ');
  expect(
    await ops('--subject', 'events.*.batch.>', '--subject', 'events.acme.dds.*', '--apply'),
  ).toMatchObject({
    code: 0,
  });
});

it('ops reader --remove removes the named consumer alone, and only with --apply', async () => {
  await ops('--apply');
  const bystander = `${name}-bystander`;
  await runOps(['reader', bystander, '--apply'], { NATS_URL: engine.url });
  expect(await ops('--remove')).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('--apply removes it'),
  });
  expect(await ops('--remove', '--from-start')).toMatchObject({ code: 2 });
  expect(await ops('--remove', '--apply')).toMatchObject({
    code: 0,
    stdout: `EVENTS has no consumer ${name}.\n`,
  });
  expect(await ops('--remove', '--apply')).toMatchObject({ code: 0 });
  expect((await manager.consumers.info('EVENTS', bystander)).name).toBe(bystander);
});

it('ops reader --integration refuses an invalid integration and the name of another account', async () => {
  expect(await ops('--integration', 'acme', '--apply')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('READER_'),
  });
  expect(await configOf()).toMatchObject({ filter_subjects: ['events.acme.>'] });
  for (const integration of ['a.b', 'a b', '*', '>', '', 'x'.repeat(300)])
    expect(await ops('--integration', integration, '--apply')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--integration: 1 to 64 letters, digits, _ or -'),
    });
  expect(await ops('--integration', 'acme', '--subject', 'events.>')).toMatchObject({ code: 2 });
  for (name of ['catalog', 'reader'])
    expect(await ops('--integration', 'acme', '--apply')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${name.toUpperCase()} is another account`),
    });
});

it('ops reader names the command that makes the stream, where NATS lacks the stream', async () => {
  await using empty = await startNats();
  const ended = await runOps(['reader', 'reader', '--apply'], { NATS_URL: empty.url });
  expect(ended).toMatchObject({
    code: 3,
    stderr: 'NATS has no stream EVENTS: ops streams --apply makes it.',
  });
});
