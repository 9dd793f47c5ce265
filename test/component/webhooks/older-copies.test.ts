// NATS is restored from an older copy of its store. The streams keep their creation time, and new messages get the sequences of
// lost messages. What comes after the restore reaches every endpoint, and the feed passes over nothing in silence.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openDisabledWebhooks } from '../../../services/webhooks/src/operating/disabled.ts';
import { eventually } from '../../support/eventually.ts';
import { askFeed, idsOf, readAll, type FeedPage, type FeedQuery } from '../../support/feed.ts';
import { startCopiedNats, type CopiedNats } from '../../support/nats.ts';
import { answer, openReceiver, type Receiver } from '../../support/receiver.ts';
import { startWebhookProcess, type WebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

let nats: CopiedNats;
let house: House;
beforeAll(async () => {
  nats = await startCopiedNats();
  house = await openHouse({ nats });
}, 60_000);
// A failed test may have left it dead.
afterEach(() => nats.resume());
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
});

const laterPushes = 20;
const madeAt = async (): Promise<number> => (await house.bus.streamFacts('EVENT_BATCHES')).madeAt.getTime();

async function push(client: Client, times: number): Promise<string[]> {
  const ids: string[] = [];
  for (let one = 0; one < times; one += 1) ids.push(...(await client.announce()));
  return ids;
}

/** NATS is back for the services too: each of them connects again by itself. */
const untilConnected = (): Promise<boolean> => eventually(async () => house.bus.connected, Boolean, 10_000);

interface StoredFloors {
  _id: string;
  floors?: Record<string, [term: number, floor: number, newest?: { storedAt: Date }]>;
}

/** A replica has stored that it knows the newest message of the log: a later replica can tell that NATS lost the message. */
async function untilNewestIsStored(): Promise<void> {
  const { lastAt } = await house.bus.streamFacts('EVENT_BATCHES');
  const stored = (): Promise<StoredFloors[]> =>
    house.store.collection<StoredFloors>('webhook_replicas').find().toArray();
  await eventually(stored, (all) =>
    all
      .flatMap(({ floors = {} }) => Object.values(floors))
      .some(([, , newest]) => newest !== undefined && newest.storedAt.getTime() >= lastAt.getTime() - 5),
  );
}

type Order = (
  client: Client,
  replica: WebhookProcess,
) => Promise<{ later: string[]; replica: WebhookProcess }>;

const orders: Record<string, Order> = {
  'webhooks was stopped, and starts after the next pushes': async (client, replica) => {
    await replica.stop();
    await nats.putBack();
    await untilConnected();
    const later = await push(client, laterPushes);
    return { later, replica: await startWebhookProcess(house.environment) };
  },
  'webhooks was killed, and starts before the next pushes': async (client, replica) => {
    await replica.kill();
    await nats.putBack();
    await untilConnected();
    const next = await startWebhookProcess(house.environment);
    return { later: await push(client, laterPushes), replica: next };
  },
  'webhooks was killed, and starts after the next pushes': async (client, replica) => {
    await replica.kill();
    await nats.putBack();
    await untilConnected();
    const later = await push(client, laterPushes);
    return { later, replica: await startWebhookProcess(house.environment) };
  },
  'webhooks starts before NATS': async (client, replica) => {
    await replica.stop();
    nats.hold();
    await nats.kill();
    const starting = startWebhookProcess(house.environment);
    await nats.putBack();
    await untilConnected();
    return { later: await push(client, laterPushes), replica: await starting };
  },
  'webhooks runs on': async (client, replica) => {
    await nats.putBack();
    await untilConnected();
    return { later: await push(client, laterPushes), replica };
  },
};

const has = async (receiver: Receiver, ids: readonly string[]): Promise<void> => {
  const isOne = new Set(ids);
  const found = (): string[] => receiver.hits.map(({ headers }) => headers['webhook-id'] ?? '');
  await eventually(
    async () => new Set(found().filter((id) => isOne.has(id))).size,
    (count) => count === ids.length,
    30_000,
  );
};

const ofOnePush = 'webhooks was killed, and starts after the next pushes';

describe.each(Object.entries(orders))('where %s,', (title, order) => {
  it.each(title === ofOnePush ? [1, 12, 500] : [12])(
    'every event of %s pushes after a restore of NATS is delivered, and an old cursor of the feed is refused',
    { timeout: 90_000 },
    async (lost) => {
      const client = house.newClient();
      await using current = await openReceiver();
      await using failing = await openReceiver(answer(500));
      await using late = await openReceiver();
      await using stack = new AsyncDisposableStack();
      const first = stack.use(await startWebhookProcess(house.environment));
      const ask = (query: FeedQuery) => askFeed(house.bus, client.integration, query);
      await client.register(current.url);
      const before = await push(client, 3);
      await has(current, before);
      const { next: early } = await ask({});
      await nats.copy();
      await untilConnected();
      const created = await madeAt();

      await client.register(failing.url);
      await has(current, await push(client, lost));
      await failing.received(1);
      await client.register(late.url);
      const { next: old } = await eventually(
        () => ask({ after: early, limit: 500 }),
        ({ more, events }) => !more && events.length === lost,
      );

      await untilNewestIsStored();

      const begunAt = Date.now();
      const { later, replica } = await order(client, first);
      stack.use(replica);
      failing.behave(answer(204));
      expect(await madeAt()).toBe(created);
      await Promise.all([current, failing, late].map((receiver) => has(receiver, later)));

      for (const after of [early, old]) {
        const refusal: Failure = await ask({ after }).then(
          () => {
            throw new Error('the place was taken');
          },
          (error: Failure) => error,
        );
        expect(refusal).toMatchObject({
          code: 'conflict',
          detail: expect.stringContaining('List the records'),
        });
      }
      const { ids } = await readAll(ask, { since: new Date(begunAt - 2_000).toISOString() });
      expect(later.filter((id) => !ids.includes(id))).toEqual([]);
      const said = replica.lines.filter((line) => line.includes('NATS was restored from an older copy'));
      expect(said.map((line) => JSON.parse(line))).toContainEqual(
        expect.objectContaining({ level: 'error', stream: 'EVENT_BATCHES' }),
      );
    },
  );
});

// The cutoff of the recovery is a lost sequence of EVENTS, which a later event has once NATS is restored.
it(
  'every event after a restore of NATS is delivered to a webhook that a recovery had enabled',
  { timeout: 90_000 },
  async () => {
    const client = house.newClient();
    await using receiver = await openReceiver();
    await using stack = new AsyncDisposableStack();
    const first = stack.use(await startWebhookProcess(house.environment));
    const { id } = await client.register(receiver.url);
    await nats.copy();
    await untilConnected();
    await has(receiver, await push(client, 12));
    const stored = house.store.collection<{ _id: string }>('webhook_endpoints');
    const disabled = { active: false, disabledAt: new Date(), disabledReason: 'failures', 'missed.0': null };
    await stored.updateOne({ _id: id }, { $set: { ...disabled, epoch: 1 }, $inc: { version: 1 } });
    const operator = openDisabledWebhooks(house.store);
    await operator.enable(await operator.find(new Date(0), client.integration), false);
    const isEnabled = { _id: id, active: true, recovery: { $exists: false } };
    await eventually(() => stored.countDocuments(isEnabled), Boolean);
    await untilNewestIsStored();
    await first.kill();
    await nats.putBack();
    await untilConnected();
    const later = await push(client, laterPushes);
    stack.use(await startWebhookProcess(house.environment));
    await has(receiver, later);
    expect((await client.ask('get', { id })).body).toMatchObject({ active: true, consecutiveFailures: 0 });
  },
);

type Part = 'in the copy' | 'lost' | 'later';

/** The ids of one reader from its start, or from a refusal, to the next refusal. */
type Chain = string[];

/** Announces events until it is stopped, and notes the part of each event that was surely announced within one part. */
function openAnnouncer(client: Client) {
  const parts = new Map<string, Part>();
  let part: Part | undefined = 'in the copy';
  const stopping = new AbortController();
  const announceOn = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const begun = part;
      const ids = await client.announce(1 + Math.floor(Math.random() * 3)).catch(() => []);
      if (begun !== undefined && begun === part) for (const id of ids) parts.set(id, begun);
      await wait(Math.random() * 30);
    }
  };
  const running = announceOn();
  return {
    parts,
    enter: (next: Part | undefined): void => void (part = next),
    ofPart: (wanted: Part): string[] => [...parts].filter(([, one]) => one === wanted).map(([id]) => id),
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

/** Reads the feed page after page until it is stopped and the feed has ended. After a refusal it reads on from `since`. */
async function readOn(
  ask: (query: FeedQuery) => Promise<FeedPage>,
  { since, isStopping }: { since: string; isStopping: () => boolean },
): Promise<Chain[]> {
  const chains: Chain[] = [[]];
  let from: FeedQuery = { since };
  for (;;) {
    const wasStopping = isStopping();
    const page = await ask({
      ...from,
      limit: 1 + Math.floor(Math.random() * 7),
      wait: Math.floor(Math.random() * 3),
    }).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      return error;
    });
    if (page instanceof Failure) {
      if (page.code === 'conflict') {
        chains.push([]);
        from = { since };
      }
      await wait(Math.random() * 100);
      continue;
    }
    chains.at(-1)?.push(...idsOf(page));
    from = { after: page.next };
    if (wasStopping && !page.more && page.events.length === 0) return chains;
  }
}

/** The ids of `all` from the first one that is in the chain to the last one. */
function between(all: readonly string[], chain: Chain): string[] {
  const seen = new Set(chain);
  const first = all.findIndex((id) => seen.has(id));
  return first < 0 ? [] : all.slice(first, all.findLastIndex((id) => seen.has(id)) + 1);
}

// Setup: two replicas, four readers, and events without a pause.
// Timeline: the store of NATS is copied, and a second later put back.
// What this proves: a reader that has seen a lost event is refused before it sees a later one, each reader sees each later event,
// and no page passes over an event or shows one twice.
it('readers of the feed miss no event that outlives a restore of NATS', { timeout: 90_000 }, async () => {
  const client = house.newClient();
  const since = new Date(Date.now() - 1_000).toISOString();
  await using _one = await startWebhookProcess(house.environment);
  await using _two = await startWebhookProcess(house.environment);
  const announcer = openAnnouncer(client);
  let isStopping = false;
  const reading = Promise.all(
    Array.from({ length: 4 }, () =>
      readOn((query) => askFeed(house.bus, client.integration, query), {
        since,
        isStopping: () => isStopping,
      }),
    ),
  );
  reading.catch(() => undefined);
  try {
    await wait(500 + Math.random() * 500);

    announcer.enter(undefined);
    await nats.copy();
    await untilConnected();
    announcer.enter('lost');
    await wait(500 + Math.random() * 1_000);
    announcer.enter(undefined);
    await nats.putBack();
    await untilConnected();
    announcer.enter('later');
    await wait(1_000 + Math.random() * 1_000);
  } finally {
    await announcer.stop();
    isStopping = true;
  }

  const { parts, ofPart } = announcer;
  const [inCopy, lost, later] = (['in the copy', 'lost', 'later'] as const).map(ofPart);
  expect([inCopy, lost, later].every((ids = []) => ids.length > 5)).toBe(true);
  for (const chains of await reading) {
    for (const chain of chains) {
      expect(new Set(chain).size).toBe(chain.length);
      const known = chain.filter((id) => parts.has(id));
      const seen = new Set(known.map((id) => parts.get(id)));
      expect(seen.has('lost') && seen.has('later')).toBe(false);
      const all = [...parts].flatMap(([id, part]) => (part === 'in the copy' || seen.has(part) ? [id] : []));
      expect(known).toEqual(between(all, chain));
    }
    expect((later ?? []).filter((id) => !chains.at(-1)?.includes(id))).toEqual([]);
  }
});
