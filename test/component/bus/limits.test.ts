// Limits of nats-server and of its account that streams, consumers and publishers run into: the error names
// the setting to change.
import { eventsStreamSpec } from '@integration-sync/contracts';
import type { ConsumerSpec, StreamSpec } from '@integration-sync/runtime/bus';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { openTestBus } from '../../support/bus.ts';
import { startNatsAs } from '../../support/nats.ts';

/** A server whose only user has an account with these limits. */
const withAccount = (...limits: string[]) =>
  startNatsAs([
    'jetstream {',
    '  store_dir: $NATS_STORE_DIR',
    '  sync_interval: always',
    '}',
    'no_auth_user: a',
    'accounts {',
    '  A {',
    '    users: [ { user: a, password: b } ]',
    '    jetstream {',
    '      max_mem: 1GB',
    ...limits.map((limit) => `      ${limit}`),
    '    }',
    '  }',
    '}',
  ]);

const events = (settings: Parameters<typeof eventsStreamSpec>[0] = {}): StreamSpec =>
  eventsStreamSpec(settings);
const another: StreamSpec = { ...events(), name: 'OTHER', subjects: ['other.>'] };
const consumer = (name: string): ConsumerSpec => ({
  name,
  description: 'test',
  filterSubjects: ['events.>'],
  ackWaitMs: 4_000,
  ackPendingMax: 1_000,
  deliver: 'all',
});

it.each<[string, string[], RegExp]>([
  ['bytes required', ['max_bytes_required: true'], /`max_bytes_required`.*stream EVENTS/],
  ['one stream', ['max_streams: 1'], /raise `max_streams` .* to 3.*stream OTHER/],
  ['a small disk', ['max_file: 1KB'], /`max_file`.*EVENTS_MAX_BYTES.*stream EVENTS/],
  ['small streams', ['disk_max_stream_bytes: 1KB'], /`disk_max_stream_bytes`.*EVENTS_MAX_BYTES/],
])('an account with %s creates no stream, and the error names the limit', async (name, limits, words) => {
  const file = name === 'a small disk' ? [] : ['max_file: 1GB'];
  await using nats = await withAccount(...file, ...limits);
  await using bus = await openTestBus(nats.url);
  // One that must have a size has none, as it is left out.
  const settings =
    name === 'bytes required' ? {} : { EVENTS_MAX_BYTES: name === 'one stream' ? 1 : 2_000_000 };
  const makeBoth = async () => {
    for (const spec of [events(settings), another]) await bus.ensureStream(spec);
  };
  await expect(makeBoth()).rejects.toThrow(words);
});

it.each<[string, string[], RegExp]>([
  ['a small disk', ['max_file: 1MB'], /`max_file`.*EVENTS_MAX_BYTES/],
  [
    'small streams',
    ['max_file: 1GB', 'disk_max_stream_bytes: 1MB'],
    /`disk_max_stream_bytes`.*EVENTS_MAX_BYTES/,
  ],
])(
  'a stream stays unchanged where an account with %s allows no more, and a note says so',
  async (_, limits, words) => {
    await using nats = await withAccount(...limits);
    await using bus = await openTestBus(nats.url);
    await bus.ensureStream(events({ EVENTS_MAX_BYTES: 500_000 }));
    await bus.ensureStream(events({ EVENTS_MAX_BYTES: 2_000_000 }));
    expect(bus.streamNotes().join()).toMatch(words);
  },
);

it('a consumer beyond max_consumers causes an error that names the limit, and a note until the consumer is created', async () => {
  await using nats = await withAccount('max_file: 1GB', 'max_consumers: 1');
  await using bus = await openTestBus(nats.url);
  await bus.ensureStream(events());
  await bus.ensureConsumer('EVENTS', consumer('one'));
  await expect(bus.ensureConsumer('EVENTS', consumer('two'))).rejects.toThrow(
    /raise `max_consumers`.*each reader.*\(consumer two\)/,
  );
  expect(bus.streamNotes()).toEqual([
    expect.stringMatching(/^NATS refuses a consumer: raise `max_consumers`/),
  ]);
  const raw = await connect({ servers: nats.url });
  await (await jetstreamManager(raw)).consumers.delete('EVENTS', 'one');
  await raw.close();
  await bus.ensureConsumer('EVENTS', consumer('two'));
  expect(bus.streamNotes()).toEqual([]);
});

it('the error of a consumer beyond the account’s limit of unacknowledged messages names that limit', async () => {
  await using nats = await withAccount('max_file: 1GB', 'max_ack_pending: 500');
  await using bus = await openTestBus(nats.url);
  await bus.ensureStream(events());
  await expect(bus.ensureConsumer('EVENTS', consumer('one'))).rejects.toThrow(/`max_ack_pending`.* to 1000/);
});

const publishUntilRefused = async (limit: string, settings: Parameters<typeof events>[0]) => {
  await using nats = await withAccount(limit);
  await using bus = await openTestBus(nats.url);
  await bus.ensureStream(events(settings));
  const publishAll = async () => {
    for (let index = 0; index < 40; index += 1)
      await bus.publishBatch([{ subject: 'events.x', id: `${index}`, body: new Uint8Array(100_000) }]);
  };
  return await publishAll().then(
    () => 'took all',
    ({ cause }: Error) => String(cause),
  );
};

it('the error of a publisher to a full stream, or to a full account, names the limit', async () => {
  expect(await publishUntilRefused('max_file: 1GB', { EVENTS_MAX_BYTES: 1_000_000 })).toContain(
    'the stream is full: raise EVENTS_MAX_BYTES',
  );
  expect(await publishUntilRefused('max_file: 1MB', {})).toContain('raise `max_file` of the NATS account');
});

const kilobytes = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    subject: 'events.x',
    id: `${count}-${n}`,
    body: new Uint8Array(1_000),
  }));

it('a stream without room for all messages of a batch stores none of them', async () => {
  await using nats = await withAccount('max_file: 1GB');
  await using bus = await openTestBus(nats.url);
  await bus.ensureStream(events({ EVENTS_MAX_BYTES: 100_000 }));
  await bus.publishBatch(kilobytes(50));
  await expect(bus.publishBatch(kilobytes(100))).rejects.toThrow('did not take a message');
  expect(await bus.messagesIn('EVENTS')).toBe(50);
  await bus.publishBatch(kilobytes(20));
  expect(await bus.messagesIn('EVENTS')).toBe(70);
});
