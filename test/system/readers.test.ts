import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Stack } from '@integration-sync/dev/stack';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openClient, startTestStack } from '../support/stack.ts';
import { useFolder } from '../support/use-folder.ts';

// The readers of the page "Events", each as a program of its own.

const tools = process.env['READERS'] ?? '/dev/null';
const there = (file: string, command: (path: string) => string[]): string[][] =>
  existsSync(join(tools, file)) ? [command(join(tools, file))] : [];
const readers = {
  typescript: [[process.execPath, resolve('docs/readers/reader.ts')]],
  python: there('python/bin/python', (python) => [python, resolve('docs/readers/reader.py')]),
  go: there('go/reader', (reader) => [reader]),
};

const folder = useFolder();
let stack: Stack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

function startReader([program = '', ...options]: string[], settings: Record<string, string>) {
  const env = { ...process.env, NATS_URL: stack.nats, ...settings };
  const child = spawn(program, options, { cwd: folder.path, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return {
    /** The last line may still be half printed. */
    lines: () => printed.split('\n').slice(0, -1),
    failure: () => err,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function connectRaw() {
  const nats = await connect({ servers: stack.nats });
  return { nats, manager: await jetstreamManager(nats), [Symbol.asyncDispose]: () => nats.close() };
}

const eventsIn = (lines: readonly string[]): string[] =>
  lines.filter((line) => !line.startsWith('record ')).map((line) => line.split(' ')[1] ?? '');

it('in CI, the documented example readers of events are installed in each language', () => {
  const missing = Object.entries(readers).filter(([, found]) => found.length === 0);
  expect(process.env['CI'] === 'true' ? missing : []).toEqual([]);
});

describe.each(
  Object.entries(readers).flatMap(([language, [command]]) => (command ? [{ language, command }] : [])),
)('in $language', ({ command }) => {
  it('the example reader of events reads each event once, resumes at its offset, and replays from a time', async () => {
    const acme = openClient(stack);
    const settings = { INTEGRATION: acme.integration, NAME: `reader-${acme.integration}` };
    const push = (id: string) =>
      acme.post('/suppliers', { suppliers: [{ externalId: id, name: `Name of ${id}` }] });
    await push('S-1');
    await push('S-2');
    {
      await using reader = startReader(command, settings);
      const lines = await eventually(reader.lines, (all) => all.length >= 6, 30_000);
      expect(eventsIn(lines)).toEqual([
        'supplier.created',
        'sync.completed',
        'supplier.created',
        'sync.completed',
      ]);
      expect(lines).toContain('record S-1 Name of S-1');
    }
    // The reader makes a new consumer, which begins with the first event, so all events come again with their ids.
    await using nats = await connectRaw();
    await nats.manager.consumers.delete('EVENTS', settings.NAME);
    await push('S-3');
    {
      await using reader = startReader(command, settings);
      const lines = await eventually(reader.lines, (all) => all.length >= 3, 30_000);
      expect(lines.filter((one) => one.startsWith('record '))).toEqual(['record S-3 Name of S-3']);
    }
    const since = new Date().toISOString();
    await push('S-4');
    await using replayed = startReader(command, {
      ...settings,
      NAME: `replay-${acme.integration}`,
      SINCE: since,
    });
    const lines = await eventually(replayed.lines, (all) => all.length >= 3, 30_000);
    expect(lines.filter((one) => one.startsWith('record '))).toEqual(['record S-4 Name of S-4']);
  });

  it('the example reader of events ends at an unknown version of an event, and leaves the event unacknowledged', async () => {
    const integration = `newer-${randomUUID()}`;
    const settings = { INTEGRATION: integration, NAME: integration };
    await using nats = await connectRaw();
    const version = headers();
    version.set('Event-Version', '2');
    version.set('Nats-Msg-Id', `${integration}-1`);
    await jetstream(nats.nats).publish(`events.${integration}.supplier.created`, '{}', {
      headers: version,
    });
    await using reader = startReader(command, settings);
    expect(await reader.ended).toBe(1);
    expect(reader.failure()).toContain(`${integration}-1 has version 2, which this reader does not know`);
    const { num_ack_pending: open } = await nats.manager.consumers.info('EVENTS', settings.NAME);
    expect(open).toBe(1);
  });
});

it('each example reader of events reads an event after a quiet time, and ends when its consumer is deleted', async () => {
  const acme = openClient(stack);
  await using nats = await connectRaw();
  const reading = Object.entries(readers).flatMap(([language, [command]]) => {
    const NAME = `quiet-${language}-${acme.integration}`;
    return command ? [{ NAME, reader: startReader(command, { INTEGRATION: acme.integration, NAME }) }] : [];
  });
  await using _ended = {
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all(reading.map(({ reader }) => reader[Symbol.asyncDispose]()))),
  };
  const consumers = () => Array.fromAsync(nats.manager.consumers.list('EVENTS'));
  await eventually(
    consumers,
    (all) => reading.every(({ NAME }) => all.some(({ name }) => name === NAME)),
    30_000,
  );
  // The client of Python asks for events every five seconds, and reports the end of this time in two ways.
  await wait(16_000);
  await acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
  for (const { reader } of reading) await eventually(reader.lines, (all) => all.length >= 3, 30_000);
  for (const { NAME } of reading) await nats.manager.consumers.delete('EVENTS', NAME);
  expect(await Promise.all(reading.map(({ reader }) => reader.ended))).toEqual(reading.map(() => 1));
});
