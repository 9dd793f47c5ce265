import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Stack } from '@integration-sync/dev/stack';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openClient, startTestStack } from '../support/stack.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(async () => stack[Symbol.asyncDispose]());

async function startTail(...options: string[]) {
  const child = spawn(process.execPath, [resolve('dev/tail.ts'), ...options], {
    env: { ...process.env, NATS_URL: stack.nats },
  });
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  await once(child.stderr, 'data');
  const stop = async (): Promise<unknown> => {
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    return (await exited)[0];
  };
  return { lines, stop };
}

/** The stream keeps 7 days: a place that is older is good for nothing. */
async function forgottenAfterDays(name: string): Promise<number> {
  const nats = await connect({ servers: stack.nats });
  try {
    const { config } = await (await jetstreamManager(nats)).consumers.info('EVENTS', name);
    return (config.inactive_threshold ?? 0) / 86_400e9;
  } finally {
    await nats.close();
  }
}

it('npm run tail prints the events of one integration as they happen, and resumes a durable consumer', async () => {
  const acme = openClient(stack);
  const bystander = openClient(stack);
  const push = (name: string) => acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name }] });
  const options = ['--integration', acme.integration, '--durable', `reader-${acme.integration}`];

  const first = await startTail(...options);
  await push('one');
  await bystander.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'one' }] });
  await expect.poll(() => first.lines.length).toBe(2);
  expect(first.lines[0]).toMatch(
    new RegExp(
      `^events\\.${acme.integration}\\.supplier\\.created sync_\\w+-created-0 \\{"event":"supplier.created"`,
    ),
  );
  expect(await first.stop()).toBe(0);
  expect(await forgottenAfterDays(`reader-${acme.integration}`)).toBe(8);

  await push('two');
  // The reader's name remembers where it began and what it reads.
  const second = await startTail('--durable', `reader-${acme.integration}`);
  await expect.poll(() => second.lines.length).toBe(2);
  expect(second.lines.map((line) => line.split(' ')[0])).toEqual([
    `events.${acme.integration}.supplier.updated`,
    `events.${acme.integration}.sync.completed`,
  ]);
  expect(await second.stop()).toBe(0);
});

it('npm run tail reports a durable consumer of the same name with other subjects', async () => {
  const { integration } = openClient(stack);
  const durable = ['--durable', `taken-${integration}`];
  const first = await startTail('--integration', integration, ...durable);
  expect(await first.stop()).toBe(0);
  const child = spawn(process.execPath, [resolve('dev/tail.ts'), '--integration', 'another', ...durable], {
    env: { ...process.env, NATS_URL: stack.nats },
  });
  const exited = once(child, 'exit');
  const [said] = (await once(child.stderr, 'data')) as [Buffer];
  expect(said.toString()).toBe(
    `the consumer taken-${integration} exists and reads events.${integration}.>: choose another name, or omit --integration.\n`,
  );
  expect((await exited)[0]).toBe(1);
});

it('npm run tail ends at a Ctrl-C while NATS is away', async () => {
  const tail = await startTail();
  const { nats } = stack.engines;
  nats.hold();
  await nats.kill();
  try {
    expect(await tail.stop()).toBe(0);
  } finally {
    await nats.resume();
  }
});
