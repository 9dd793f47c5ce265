// NATS is restored from an older copy of its store. The streams keep their creation time, and new messages get the sequences of
// lost messages. What comes after the restore reaches every endpoint, and the feed passes over nothing in silence.
import type { Failure } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { askFeed, readAll, type FeedQuery } from '../../support/feed.ts';
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

describe.each(Object.entries(orders))('%s', (title, order) => {
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
