// Which way deliveries take: a few of each integration the shared one, and the rest its own.
import { openLog } from '@integration-sync/runtime/log';
import type { StreamMessage } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import type { Message } from '../../../services/webhooks/src/streams/messages.ts';
import { openFanout } from '../../../services/webhooks/src/fanout/fanout.ts';
import type { VersionedSubscriber } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openCounting, wayOf } from '../../../services/webhooks/src/streams/ways.ts';
import { eventually } from '../../support/eventually.ts';

const unsettled = (
  shared: Readonly<Record<string, number>> = {},
  backlog: Readonly<Record<string, number>> = {},
) => ({ shared: new Map(Object.entries(shared)), backlog: new Map(Object.entries(backlog)) });

const others = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`o${n}`, 1]));

it.each([
  { has: 'nothing', now: unsettled(), deliveries: 512, way: 'shared' },
  { has: 'nothing', now: unsettled(), deliveries: 513, way: 'backlog' },
  { has: '7 parcels there', now: unsettled({ acme: 7 }), deliveries: 1, way: 'shared' },
  { has: '8 parcels there', now: unsettled({ acme: 8 }), deliveries: 1, way: 'backlog' },
  { has: 'something on its own', now: unsettled({}, { acme: 1 }), deliveries: 1, way: 'backlog' },
  { has: 'a neighbour with much', now: unsettled({ o: 8 }, { o: 99 }), deliveries: 512, way: 'shared' },
  { has: '15 neighbours', now: unsettled(others(15)), deliveries: 128, way: 'shared' },
  { has: '15 neighbours', now: unsettled(others(15)), deliveries: 129, way: 'backlog' },
  { has: '1,000 neighbours', now: unsettled(others(1_000)), deliveries: 64, way: 'shared' },
  {
    has: 'neighbours and 1 there',
    now: unsettled({ ...others(40), acme: 1 }),
    deliveries: 1,
    way: 'backlog',
  },
])('$deliveries deliveries of one who has $has take the way $way', ({ now, deliveries, way }) => {
  expect(wayOf('acme', deliveries, now)).toBe(way);
});

it('one question for what is on the ways serves all who ask meanwhile', async () => {
  let asked = 0;
  const count = openCounting({
    async countBySubject() {
      asked += 1;
      return new Map([
        ['deliveries.acme', 3],
        ['deliveries.acme.backlog', 5],
        ['deliveries.other', 1],
      ]);
    },
  });
  const [first, second] = await Promise.all([count(), count()]);
  expect(asked).toBe(1);
  expect(first).toEqual(unsettled({ acme: 3, other: 1 }, { acme: 5 }));
  expect(second).toEqual(first);
});

// Setup: in one batch, events of an integration that has a backlog, or makes one by the number of its endpoints, and
// one event of another.
// What this proves: the other's goes out first and by the shared way, and the batch is acknowledged as a whole.
it.each([
  { name: 'a backlog', endpoints: 1, now: unsettled({}, { busy: 1 }) },
  { name: '600 endpoints', endpoints: 600, now: unsettled() },
])('events of one with $name go by its own way, after what others have', async ({ endpoints, now }) => {
  const published: Message[][] = [];
  let looks = 0;
  let acknowledged = 0;
  const fanout = openFanout({
    subscribers: {
      of: async () =>
        new Map([
          ['busy', Array.from({ length: endpoints }, (_, n) => subscriber(`wh_busy_${n}`))],
          ['other', [subscriber('wh_other')]],
        ]),
    },
    bus: {
      async publishBatch(messages) {
        published.push(messages as Message[]);
        return [];
      },
    },
    leases: {
      take: (message) => ({ message, ack: () => void (acknowledged += 1), giveBack: () => undefined }),
    },
    metrics: { fanoutLag: () => undefined, fannedOut: () => undefined },
    countUnsettled: async () => now,
    onBacklog: () => void (looks += 1),
    log: openLog({ service: 'test', level: 'silent' }),
  });
  for (const [n, integration] of ['busy', 'busy', 'other'].entries()) fanout.take(event(integration, n + 1));
  await eventually(
    () => acknowledged,
    (count) => count === 3,
  );
  const subjects = published.map((messages) => new Set(messages.map(({ subject }) => subject)));
  expect(subjects).toEqual([new Set(['deliveries.other']), new Set(['deliveries.busy.backlog'])]);
  expect(looks).toBe(1);
});

const subscriber = (_id: string): VersionedSubscriber => ({
  _id,
  events: ['supplier.created'],
  earlierEvents: [],
  active: true,
  createdAt: new Date(0),
  disablings: [],
  epoch: 0,
  eventsAfter: 0,
  version: 1,
});

const event = (integration: string, sequence: number): StreamMessage => ({
  subject: `bundles.${integration}`,
  id: `e${sequence}`,
  headers: new Map(),
  body: Buffer.from(
    `1 ${sequence}\n  \n0 e${sequence} {"event":"supplier.created","timestamp":"2026-01-01T00:00:00.000Z","data":{}}\n`,
  ),
  sequence,
  deliveries: 1,
  storedAt: new Date(),
  ack: () => undefined,
  nak: () => undefined,
  working: () => undefined,
  term: () => undefined,
});
