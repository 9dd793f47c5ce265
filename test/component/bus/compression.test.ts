// How many bytes the log takes on the disk of nats-server, and how a log of the release before comes to take as few.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  eventBatchesStreamSpec,
  eventsStreamSpec,
  storeEventBatch,
  storeEvents,
} from '@integration-sync/contracts';
import type { Bus, StreamSpec } from '@integration-sync/runtime/bus';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { makeEvents } from '../../../shared/sync/src/announcing/announcement.ts';
import { openTestBus } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { startCopiedNats } from '../../support/nats.ts';

const blockBytes = 8 * 1024 * 1024;
const itemsOfPush = 500;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Announces a push of 500 new suppliers. */
async function announce(bus: Bus, push: number): Promise<void> {
  const at = new Date(1_790_000_000_000 + push);
  const events = makeEvents({
    syncId: `sync_${digest(`push ${push}`)}`,
    action: 'push',
    integration: 'acme',
    entityType: 'supplier',
    counts: { created: itemsOfPush, updated: 0, unchanged: 0, failed: 0 },
    startedAt: at,
    completedAt: at,
    records: Array.from({ length: itemsOfPush }, (_, ordinal) => ({
      ordinal,
      externalId: `SUP-${push * itemsOfPush + ordinal}`,
      internalId: `sup_${digest(`${push} ${ordinal}`)}`,
      outcome: { created: true, drafted: false, changed: [] },
    })),
  });
  await storeEventBatch(bus, await storeEvents(bus, { announcer: 'catalog', integration: 'acme', events }));
}

// Setup: EVENTS and EVENT_BATCHES as the release before made them, with a push in them.
// Timeline: this release starts, then a replica of the release before; nats-server is killed; pushes fill a block.
// What this proves: both streams are compressed in ordinal, no message is lost, and a push takes at most 80 kB of disk.
test('a stream that the release before created is compressed from the next start of nats-server on', async () => {
  await using nats = await startCopiedNats();
  await using bus = await openTestBus(nats.url);
  const specs: StreamSpec[] = [eventsStreamSpec({}), eventBatchesStreamSpec({})];
  const before = specs.map(({ compression: _compression, ...spec }): StreamSpec => spec);
  for (const spec of before) await bus.ensureStream(spec);
  await announce(bus, 0);
  for (const spec of [...specs, ...before]) await bus.ensureStream(spec);
  const connection = await connect({ servers: nats.url });
  const manager = await jetstreamManager(connection);
  const compressions = specs.map(async ({ name }) => (await manager.streams.info(name)).config.compression);
  expect(await Promise.all(compressions)).toEqual(['s2', 's2']);
  await connection.close();
  expect(bus.streamNotes()).toEqual([]);

  nats.hold();
  await nats.kill();
  await nats.resume();
  await bus.patiently('the events', async () => expect(await bus.messagesIn('EVENTS')).toBe(itemsOfPush + 1));
  const pushes = 46;
  for (let push = 1; push < pushes; push += 1) await announce(bus, push);

  const block = (stream: string) => join(nats.store, '$G', 'streams', stream, 'msgs', '1.blk');
  const ofEvents = await eventually(
    async () => (await stat(block('EVENTS'))).size,
    (bytes) => bytes < blockBytes / 2,
  );
  expect((await readFile(block('EVENTS'))).subarray(0, 3).toString()).toBe('cmp');
  const eventsBytes = (await bus.inspectStreams(specs)).map(({ facts }) => facts?.bytes ?? Infinity);
  const [raw = Infinity, batches = Infinity] = eventsBytes.map((bytes) => bytes / pushes);
  // EVENT_BATCHES has no full block yet: its bytes count as they are.
  expect((raw * ofEvents) / blockBytes + batches).toBeLessThan(80_000);
}, 60_000);
