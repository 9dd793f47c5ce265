// What the fan-out publishes, in which order, and when a bundle is settled.
import { openLog } from '@integration-sync/runtime/log';
import type { StreamMessage } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import type { VersionedSubscriber } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openFanout } from '../../../services/webhooks/src/fanout/fanout.ts';
import type { Message } from '../../../services/webhooks/src/streams/messages.ts';
import type { Unsettled } from '../../../services/webhooks/src/streams/ways.ts';
import { openRetry } from '../../../services/webhooks/src/tools/retry.ts';
import { eventually } from '../../support/eventually.ts';
import { messageFor } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });
const nothing: Unsettled = { shared: new Map(), backlog: new Map() };

interface Situation {
  /** How many endpoints subscribe, by integration. */
  endpoints: Readonly<Record<string, number>>;
  unsettled?: Unsettled;
  /** Before subscribers are looked up. */
  ask?: () => void;
  /** Before parcels are counted. */
  count?: () => void;
  /** Instead of storing at once. */
  publish?: (subject: string, ids: readonly string[]) => Promise<void>;
}

function openHouse({
  endpoints,
  unsettled = nothing,
  ask,
  count,
  publish = async () => undefined,
}: Situation) {
  /** The subject of each batch that was published: one integration's, by one way. */
  const published: string[] = [];
  const settled: string[] = [];
  const givenBack: string[] = [];
  let looks = 0;
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const fanout = openFanout({
    subscribers: {
      async of(integrations) {
        ask?.();
        return new Map(
          integrations.map((name) => [
            name,
            Array.from({ length: endpoints[name] ?? 0 }, (_, n) => subscriber(`wh_${name}_${n}`)),
          ]),
        );
      },
    },
    bus: {
      async publishBatch(messages) {
        const subjects = new Set((messages as Message[]).map(({ subject }) => subject));
        published.push(...subjects);
        const ids = messages.map(({ id }) => id);
        for (const subject of subjects) await publish(subject, ids);
        return [];
      },
    },
    leases: {
      take: (message) => ({
        message,
        ack: () => void settled.push(message.id),
        giveBack: () => void givenBack.push(message.id),
      }),
    },
    metrics: { fanoutLag: () => undefined, fannedOut: () => undefined },
    async countUnsettled() {
      count?.();
      return unsettled;
    },
    onBacklog: () => void (looks += 1),
    retry: openRetry(log, stopping.signal),
    signal: stopping.signal,
    log,
  });
  return { fanout, published, settled, givenBack, stop, looks: () => looks };
}

const untilLength = (all: readonly unknown[], length: number) =>
  eventually(
    () => all.length,
    (now) => now >= length,
  );

// Setup: in one batch, events of an integration that has a backlog, or makes one by the number of its endpoints, and
// one event of another.
// What this proves: the other's goes out first and by the shared way.
it.each([
  { name: 'a backlog', endpoints: 1, unsettled: { ...nothing, backlog: new Map([['busy', 1]]) } },
  { name: '600 endpoints', endpoints: 600, unsettled: nothing },
])('events of one with $name go by its own way, after what others have', async ({ endpoints, unsettled }) => {
  const { fanout, published, settled, looks } = openHouse({
    endpoints: { busy: endpoints, other: 1 },
    unsettled,
  });
  for (const [n, integration] of ['busy', 'busy', 'other'].entries()) fanout.take(event(integration, n + 1));
  await untilLength(settled, 3);
  expect(published).toEqual(['deliveries.other', 'deliveries.busy.backlog']);
  expect(settled).toEqual(['e3', 'e1', 'e2']);
  expect(looks()).toBe(1);
});

// Timeline: two events of `busy` are being stored for its 300 endpoints; a third of it, and one of another, come meanwhile.
// What this proves: the other's is stored and settled at once; the third of `busy` only after the first two and by the same
// way, though alone it is little enough for the shared one.
it('events of others go out while much of one is being stored, and its own follow in their order', async () => {
  const stored = Promise.withResolvers<void>();
  const { fanout, published, settled } = openHouse({
    endpoints: { busy: 300, other: 1 },
    publish: async (subject) => (subject.endsWith('.backlog') ? stored.promise : undefined),
  });
  fanout.take(event('busy', 1));
  fanout.take(event('busy', 2));
  await untilLength(published, 1);
  fanout.take(event('busy', 3));
  fanout.take(event('other', 4));
  await untilLength(settled, 1);
  expect(settled).toEqual(['e4']);
  expect(published).toEqual(['deliveries.busy.backlog', 'deliveries.other']);
  stored.resolve();
  await fanout.settled();
  expect(settled).toEqual(['e4', 'e1', 'e2', 'e3']);
  expect(published.slice(2)).toEqual(['deliveries.busy.backlog']);
  // Nothing of it is under way any more.
  fanout.take(event('busy', 5));
  await fanout.settled();
  expect(published.at(-1)).toBe('deliveries.busy');
});

// Timeline: the stream does not say that it has the parcels of e1, and e2 comes before they are sent again.
// What this proves: the same parcels are sent again, by their ids. With e2 beside e1 they would be others, and if the stream has
// the first ones e1 would go out twice.
it.each(['shared', 'backlog'] as const)(
  'parcels of which it is not known whether they are stored are sent again by the %s way',
  async (way) => {
    const sent: string[] = [];
    const { fanout, settled, givenBack } = openHouse({
      endpoints: { one: way === 'shared' ? 1 : 600 },
      async publish(_subject, ids) {
        sent.push(ids.join());
        if (sent.length > 1) return;
        fanout.take(event('one', 2));
        throw new Error('no answer');
      },
    });
    fanout.take(event('one', 1));
    await untilLength(settled, 2);
    expect(sent).toHaveLength(3);
    expect(sent[1]).toBe(sent[0]);
    expect(sent[2]).not.toBe(sent[0]);
    expect(settled).toEqual(['e1', 'e2']);
    expect(givenBack).toEqual([]);
  },
);

// Timeline: MongoDB, or nats-server, does not answer for 40 s, and e2 comes before it does.
// What this proves: e1 is not given back, or it would come again behind e2.
it.each([
  { what: 'ask', name: 'who subscribes' },
  { what: 'count', name: 'how many parcels wait' },
] as const)('the order holds where no engine says for a while $name', async ({ what }) => {
  const began = performance.now();
  let asked = 0;
  const { fanout, settled, givenBack } = openHouse({
    endpoints: { one: 1 },
    [what]() {
      asked += 1;
      if (asked === 2) fanout.take(event('one', 2));
      if (performance.now() - began < 40_000) throw new Error('no answer');
    },
  });
  fanout.take(event('one', 1));
  await untilLength(settled, 2);
  expect([settled, givenBack]).toEqual([['e1', 'e2'], []]);
});

it.each([
  { what: 'ask', name: 'who subscribes' },
  { what: 'count', name: 'how many parcels wait' },
] as const)('a bundle is given back at a stop where no engine says $name', async ({ what }) => {
  const house = openHouse({
    endpoints: { one: 1 },
    [what]() {
      setTimeout(house.stop, 1_000);
      throw new Error('no answer');
    },
  });
  house.fanout.take(event('one', 1));
  await house.fanout.settled();
  expect([house.settled, house.givenBack]).toEqual([[], ['e1']]);
});

it('what could not be stored for 20 s is given back, and nothing else is', async () => {
  const began = performance.now();
  const house = openHouse({
    endpoints: { busy: 600, other: 1 },
    async publish(subject) {
      if (subject.endsWith('.backlog')) throw new Error('no disk');
    },
  });
  for (const [n, integration] of ['none', 'busy', 'other'].entries())
    house.fanout.take(event(integration, n + 1));
  await untilLength(house.givenBack, 1);
  expect(house.settled).toEqual(['e1', 'e3']);
  expect(house.givenBack).toEqual(['e2']);
  expect(performance.now() - began).toBeGreaterThanOrEqual(20_000);
  expect(performance.now() - began).toBeLessThan(20_500);
  house.fanout.take(event('busy', 4));
  await untilLength(house.givenBack, 2);
  expect(house.givenBack).toEqual(['e2', 'e4']);
});

it('what cannot be stored is given back at once where the process stops, and nothing is tried after it', async () => {
  const house = openHouse({
    endpoints: { one: 1 },
    async publish() {
      house.stop();
      throw new Error('no answer');
    },
  });
  house.fanout.take(event('one', 1));
  await untilLength(house.givenBack, 1);
  house.fanout.take(event('one', 2));
  await house.fanout.settled();
  expect(house.givenBack).toEqual(['e1', 'e2']);
  expect(house.published).toHaveLength(1);
});

it('what waits for its next try is given back at once where the process stops', async () => {
  const house = openHouse({
    endpoints: { one: 1 },
    async publish() {
      setTimeout(house.stop, 100);
      throw new Error('no answer');
    },
  });
  const began = performance.now();
  house.fanout.take(event('one', 1));
  await house.fanout.settled();
  expect(performance.now() - began).toBe(100);
  expect(house.givenBack).toEqual(['e1']);
  expect(house.published).toHaveLength(1);
});

// Timeline: a cluster elects a leader for 9 s, and refuses each try at once.
it('the same parcels are stored once a cluster has elected a leader', async () => {
  const began = performance.now();
  const ids = new Set<string>();
  const { fanout, settled, givenBack } = openHouse({
    endpoints: { one: 1 },
    async publish(_subject, parcels) {
      ids.add(parcels.join());
      if (performance.now() - began < 9_000) throw new Error('no responders');
    },
  });
  fanout.take(event('one', 1));
  await fanout.settled();
  expect([settled, givenBack, ids.size]).toEqual([['e1'], [], 1]);
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

const event = (integration: string, sequence: number): StreamMessage =>
  messageFor({
    subject: `bundles.catalog.${integration}`,
    id: `e${sequence}`,
    body: Buffer.from(
      `1 ${sequence}\n  \n0 e${sequence} {"event":"supplier.created","timestamp":"2026-01-01T00:00:00.000Z","data":{}}\n`,
    ),
    sequence,
  });
