import { partitionOf } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { ActiveIntegration } from '../../../services/webhooks/src/delivering/owned-integrations.ts';
import { Progress } from '../../../services/webhooks/src/delivering/progress.ts';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import type { StoredOffset } from '../../../services/webhooks/src/log/offsets.ts';
import { OwnedPartitions } from '../../../services/webhooks/src/owning/ownership.ts';
import { pause } from '../../support/pause.ts';
import { batchOf, openEndpoint, openIntegrations } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });

it('a replica at its limit of endpoints keeps the offsets of a partition that it has just taken', async () => {
  const active = new Map<string, ActiveIntegration>();
  const owned = new OwnedPartitions({ isHeard: true, gaps: 0 });
  for (const name of ['acme', 'other']) {
    const partition = partitionOf(name);
    owned.set(partition, { partition, term: 1, floor: 0, stream: 'one', through: 0 });
  }
  const read = { acme: Promise.withResolvers<void>(), other: Promise.withResolvers<void>() };
  const integrations = openIntegrations({
    active,
    owned,
    revisions: {
      async of(names) {
        await (names.includes('acme') ? read.acme : read.other).promise;
        return names.map((name) => ({ _id: name, revision: 'one' }));
      },
    },
    endpoints: {
      subscribersOf: async (names) =>
        new Map(names.map((name) => [name, [openEndpoint(`wh_${name}`)]] as const)),
      findAll: async () => [],
      recordMissed: async () => undefined,
    },
    endpointsMax: 0,
  });
  const taken = integrations.take([batchOf(1, 1, { integration: 'other', partition: partitionOf('other') })]);
  const offset = { sequence: 7, index: 1, open: [], epoch: 0 };
  const begun = integrations.begin(new Map([['acme', new Map([['wh_acme', offset]])]]));
  read.other.resolve();
  await taken;
  read.acme.resolve();
  await begun;
  expect(active.get('acme')?.queues.get('wh_acme')?.offset(0, 0)).toEqual(offset);
});

/** A replica that has read one event of an endpoint, which `change` changes. */
async function setUp() {
  const active = new Map<string, ActiveIntegration>();
  const owned = new OwnedPartitions({ isHeard: true, gaps: 0 });
  const partition = partitionOf('acme');
  owned.set(partition, { partition, term: 1, floor: 0, stream: 'one', through: 0 });
  let endpoint = openEndpoint('wh_1');
  const storingMissed = Promise.withResolvers<void>();
  const integrations = openIntegrations({
    active,
    owned,
    revisions: { of: async () => [{ _id: 'acme', revision: String(endpoint.version) }] },
    endpoints: {
      subscribersOf: async () => new Map([['acme', [endpoint]]]),
      findAll: async () => [endpoint],
      recordMissed: () => storingMissed.promise,
    },
  });
  const read = (sequence: number) => integrations.take([batchOf(sequence, 1, { partition })]);
  await read(1);
  const queue = active.get('acme')?.queues.get('wh_1');
  if (queue === undefined) throw new Error('the endpoint has no queue');
  return {
    queue,
    read,
    storingMissed,
    floor: (through: number) => owned.floorOf({ partition, stream: 'one', through }),
    find: () => integrations.onRead(queue, endpoint),
    change: async (more: Partial<Endpoint>): Promise<void> => {
      endpoint = { ...endpoint, version: endpoint.version + 1, ...more };
      await integrations.refresh('acme', 'wh_1');
    },
  };
}

it.each([
  ['once the outcome is stored', () => undefined],
  ['by the replica that cannot store the outcome', (find: () => void) => find()],
])(
  'an event after an enabling is delivered, although the enabling is applied only %s',
  async (_how, before) => {
    const { queue, storingMissed, read, find, change, floor } = await setUp();
    const storing = Promise.withResolvers<void>();
    queue.storing = storing.promise;
    await change({ epoch: 1, active: false, missed: { 0: null } });
    await change({ active: true, eventsAfter: 1 });
    await read(2);
    expect(floor(2)).toBe(1);
    before(find);
    queue.storing = undefined;
    storing.resolve();
    storingMissed.resolve();
    await pause(0);
    expect(queue.next(0, 1)).toMatchObject({ kind: 'deliver', event: { eventId: '2-0' } });
    expect(floor(2)).toBe(2);
  },
);

it.each([
  ['disabled', false],
  ['disabled and immediately enabled again', true],
])(
  'the offset of an endpoint that is %s stays until its missed events are stored: its owner may be killed before',
  async (_how, isEnabled) => {
    const { queue, storingMissed, read, change, floor } = await setUp();
    const offset = queue.offset(0, 0);
    await change({ epoch: 1, active: isEnabled, missed: { 0: null } });
    await read(2);
    expect([queue.offset(0, 0), queue.firstUndelivered(), floor(2)]).toEqual([offset, 1, 1]);
    storingMissed.resolve();
    await pause(0);
    expect([queue.firstUndelivered(), floor(2)]).toEqual([isEnabled ? 2 : Infinity, 2]);
  },
);

it('the offset of an endpoint that was disabled before a claim stays until its missed events are stored', async () => {
  const active = new Map<string, ActiveIntegration>();
  const owned = new OwnedPartitions({ isHeard: true, gaps: 0 });
  const partition = partitionOf('acme');
  owned.set(partition, { partition, term: 2, floor: 9, stream: 'one', through: 9 });
  const storingMissed = Promise.withResolvers<void>();
  const saved: ReadonlyMap<string, StoredOffset>[] = [];
  await using progress = new Progress({
    active,
    owned,
    claims: { saveFloors: async () => undefined },
    offsets: { save: async (_name, _by, offsets) => void saved.push(offsets), termsIn: async () => [] },
    stream: { facts: { id: 'one', createdAt: 'one', firstSequence: 1, lastSequence: 9 } },
    onDropped: () => undefined,
    log,
  });
  const disabled = { ...openEndpoint('wh_1'), epoch: 1, active: false, missed: { 0: null } };
  const integrations = openIntegrations({
    active,
    owned,
    revisions: { of: async () => [{ _id: 'acme', revision: 'one' }] },
    endpoints: {
      subscribersOf: async () => new Map([['acme', [disabled, openEndpoint('wh_2')]]]),
      findAll: async () => [],
      recordMissed: () => storingMissed.promise,
    },
    wake: (queue) => void progress.touch(queue),
    onBehind: (queue) => progress.touchBehind(queue),
  });
  const behind = { sequence: 7, index: 0, open: [], epoch: 0 };
  const caughtUp = { sequence: 10, index: 0, open: [], epoch: 0 };
  await integrations.begin(
    new Map([
      [
        'acme',
        new Map([
          ['wh_1', behind],
          ['wh_2', caughtUp],
        ]),
      ],
    ]),
  );
  await pause(150);
  expect(saved).toEqual([new Map([['wh_1', behind]])]);
  storingMissed.resolve();
  await pause(150);
  expect(saved.at(-1)).toEqual(new Map());
});
