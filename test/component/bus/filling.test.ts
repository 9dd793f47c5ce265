// When streams will be full: what a replica and ops streams say of a small store before pushes' events wait, and by which rate.
import { publishWithBatch } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { fillingsOf, serverLevel, watchFilling } from '@integration-sync/runtime/filling';
import { expectedStreams } from '@integration-sync/webhooks/operating';
import { Registry } from 'prom-client';
import { expect, it, test } from 'vitest';
import { openTestBus } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats, startNatsAs } from '../../support/nats.ts';
import { runOps } from '../../support/ops.ts';

const dayMs = 24 * 60 * 60 * 1000;
const streams = ['EVENTS', 'EVENT_BATCHES'];

async function makeStreams(bus: Bus, settings: Parameters<typeof expectedStreams>[0] = {}): Promise<void> {
  for (const spec of expectedStreams(settings)) await bus.ensureStream(spec);
}

let made = 0;

/** Stores so many events of some 1,000 bytes. */
async function announce(bus: Bus, count: number): Promise<void> {
  const events = Array.from({ length: count }, () => {
    made += 1;
    const body = JSON.stringify({ event: 'supplier.created', data: 'x'.repeat(850) });
    return { subject: 'events.acme.supplier.created', id: `event-${made}`, body };
  });
  await publishWithBatch(bus, { announcer: 'catalog', integration: 'acme', events });
}

async function perDay(bus: Bus, nowMs?: number): Promise<number> {
  const { streams: levels } = await bus.readLevels(['EVENTS'], nowMs);
  return levels[0]?.bytesPerDay ?? Number.NaN;
}

// Setup: a store with room for some 500 events.
// Timeline: 100 events, which take a fifth; 320 in all; until nothing fits.
// What this proves: the gauge, the note, the log and the command warn while events are still stored, and not before.
test('a gauge, a note, the log and ops streams report a filling stream before events wait', async () => {
  await using nats = await startNats();
  await using bus = await openTestBus(nats.url);
  await makeStreams(bus, { EVENTS_MAX_BYTES: 500_000 });
  const { log, text } = openTestLog();
  const registry = new Registry();
  const monitorUrl = nats.monitorUrl;
  await using filling = watchFilling({ bus, streams, monitorUrl, registry, log, pollMs: 50 });
  const secondsLeft = async (): Promise<number> => {
    const metric = await registry.getSingleMetric('sync_stream_full_seconds')?.get();
    return metric?.values.find(({ labels }) => labels['stream'] === 'EVENTS')?.value ?? Number.NaN;
  };
  const ops = async () => (await runOps(['streams'], { NATS_URL: nats.url })).stdout;

  await announce(bus, 100);
  await eventually(secondsLeft, (seconds) => Number.isFinite(seconds));
  expect(await secondsLeft()).toBeGreaterThan(2 * 86_400);
  expect(filling.notes()).toEqual([]);
  expect(await ops()).toContain('Nothing is wrong.');

  await announce(bus, 220);
  await eventually(secondsLeft, (seconds) => seconds < 2 * 86_400);
  expect(filling.notes()).toEqual([
    'EVENTS takes no events in less than 12 h, at the rate of the last day, by EVENTS_MAX_BYTES: ' +
      'give it more, or lower EVENTS_KEEP_DAYS.',
  ]);
  expect(text()).toContain('streams will be full soon');
  expect(await ops()).toMatch(
    /^WRONG {2}EVENTS is full in 1\d h at the rate of the last day, by EVENTS_MAX_BYTES/m,
  );
  await announce(bus, 1);

  const fill = async () => {
    for (let times = 0; times < 100; times += 1) await announce(bus, 5);
  };
  await expect(fill()).rejects.toThrow('did not take a message');
  await eventually(secondsLeft, (seconds) => seconds < 3_600);
  expect(filling.notes().join()).toContain('in less than 1 h');
  await bus.purge('EVENTS', 'events.>');
  await eventually(
    () => Promise.resolve(filling.notes()),
    (notes) => notes.length === 0,
  );
  expect(text()).toContain('no stream will be full soon');
});

it('the daily growth of a stream is the bytes of the last day, less the bytes that expire per day in the next two days', async () => {
  await using nats = await startNats();
  await using bus = await openTestBus(nats.url);
  await makeStreams(bus);
  expect(await perDay(bus)).toBe(0);
  await announce(bus, 90);
  await announce(bus, 30);
  const [all] = (await bus.readLevels(['EVENTS'])).streams;
  const bytes = all?.bytes ?? Number.NaN;
  expect(all?.bytesPerDay).toBe(bytes);
  const secondAt = (await bus.storedAt('EVENTS', 91))?.getTime() ?? Number.NaN;
  expect(await perDay(bus, secondAt + dayMs)).toBeCloseTo(bytes / 4, -2);
  expect(await perDay(bus, secondAt + 3 * dayMs)).toBe(0);
  expect(await perDay(bus, secondAt + 5 * dayMs)).toBeCloseTo((-bytes * 3) / 4 / 2, -2);
  expect(await perDay(bus, secondAt + 6 * dayMs)).toBeCloseTo(-bytes / 2, -2);
});

it('the time until a stream is full assumes an even rate where a login may not read the stream', async () => {
  await using nats = await startNatsAs([
    'jetstream { store_dir: $NATS_STORE_DIR, sync_interval: always }',
    'no_auth_user: a',
    'authorization { users: [ { user: a, password: b, permissions: { publish: { deny: "$JS.API.DIRECT.GET.>" } } } ] }',
  ]);
  await using bus = await openTestBus(nats.url);
  await makeStreams(bus);
  await announce(bus, 100);
  const [all] = (await bus.readLevels(['EVENTS'])).streams;
  expect(await perDay(bus, Date.now() + 4 * dayMs)).toBeCloseTo((all?.bytes ?? Number.NaN) / 4, -2);
});

it.each([
  [
    'the account',
    [
      'no_auth_user: a',
      'accounts { A { users: [ { user: a, password: b } ], jetstream { max_file: 1MB } } }',
    ],
    '',
  ],
  ['nats-server', [], ', max_file_store: 1MB'],
] as const)(
  'the time until a stream is full counts the bytes of all streams against the limit of %s',
  async (_, lines, ofServer) => {
    await using nats = await startNatsAs([
      `jetstream { store_dir: $NATS_STORE_DIR, sync_interval: always${ofServer} }`,
      ...lines,
    ]);
    await using bus = await openTestBus(nats.url);
    await makeStreams(bus);
    await announce(bus, 300);
    const fillings = fillingsOf(await bus.readLevels(streams), await serverLevel(nats.monitorUrl));
    for (const { daysLeft, limit } of fillings) {
      expect(daysLeft).toBeGreaterThan(0.5);
      expect(daysLeft).toBeLessThan(0.8);
      expect(limit).toMatch(ofServer === '' ? '`max_file`' : '`max_file_store`');
    }
  },
);
