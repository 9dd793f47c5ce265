// The event feed on real engines: what it shows and from where on, what it refuses, and how it waits.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, packAddressedBatches } from '@integration-sync/contracts';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Webhooks } from '@integration-sync/webhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { askFeed, idsOf, readAll, type FeedPage, type FeedQuery } from '../../support/feed.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

let house: House;
let serving: Webhooks;
beforeAll(async () => {
  house = await openHouse();
  serving = await house.start();
});
afterAll(() => house[Symbol.asyncDispose]());

const feedOf =
  ({ integration }: Pick<Client, 'integration'>) =>
  (query: FeedQuery | string = {}, signal?: AbortSignal): Promise<FeedPage> =>
    askFeed(house.bus, integration, query, signal);

async function untilWaiting({ metricsUrl }: Webhooks, count: number): Promise<void> {
  const waiting = async (): Promise<number> => {
    const text = await (await fetch(metricsUrl)).text();
    return Number(/^webhook_feed_waiting\S* (\d+)$/m.exec(text)?.[1]);
  };
  await eventually(waiting, (now) => now === count);
}

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Failure) return error;
  throw new Error(`expected a Failure, got ${String(error)}`);
}

describe('the feed', () => {
  it('begins at the present, and shows each later event once, in order, with the body of its delivery', async () => {
    const client = house.newClient();
    const ask = feedOf(client);
    await client.announce(2);
    const begun = await ask();
    expect(begun).toEqual({ events: [], next: expect.any(String), more: false });
    const ids = [...(await client.announce(3)), ...(await client.announce(2, 'batch.updated'))];
    const page = await ask({ after: begun.next });
    expect(idsOf(page)).toEqual(ids);
    expect(page.events[0]).toEqual({
      id: ids[0],
      event: 'supplier.created',
      timestamp: expect.stringMatching(/Z$/),
      integrationId: client.integration,
      data: { externalId: 'S-0', internalId: 'sup_0' },
    });
    expect(page.more).toBe(false);
    expect((await ask({ after: page.next })).events).toEqual([]);
    // A place may be used again.
    expect(idsOf(await ask({ after: begun.next }))).toEqual(ids);
  });

  it('shows no event of another integration, and no replayed event', async () => {
    const [client, other] = [house.newClient(), house.newClient()];
    const begun = await feedOf(client)();
    await other.announce(3);
    const addressed = packAddressedBatches(
      { endpointId: 'wh_1', integration: client.integration, sending: randomUUID() },
      [{ id: 'again', body: JSON.stringify({ event: 'supplier.created', timestamp: 'then' }) }],
    );
    await house.bus.publishBatch(addressed);
    const ids = await client.announce(1);
    expect(idsOf(await feedOf(client)({ after: begun.next }))).toEqual(ids);
  });

  it('may split the events of a push over several pages, without a gap or a duplicate', async () => {
    const client = house.newClient();
    const begun = await feedOf(client)();
    const ids = [...(await client.announce(7)), ...(await client.announce(4))];
    for (const limit of [1, 3, 7, 11]) {
      const read = await readAll(feedOf(client), { after: begun.next, limit });
      expect(read.ids).toEqual(ids);
      expect(read.pages).toBe(Math.ceil(11 / limit));
    }
  });

  it('reduces a limit over 500 to 500', async () => {
    const client = house.newClient();
    const begun = await feedOf(client)();
    await client.announce(501);
    const page = await feedOf(client)({ after: begun.next, limit: 9_000 });
    expect([page.events.length, page.more]).toEqual([500, true]);
  });

  it('begins the next page after events of kinds that the caller excludes, and does not read these events again', async () => {
    const client = house.newClient();
    const ask = feedOf(client);
    const begun = await ask();
    await client.announce(5);
    const updated = await client.announce(1, 'supplier.updated');
    await client.announce(5);
    const page = await ask({ after: begun.next, events: 'supplier.updated,batch.created' });
    expect([idsOf(page), page.more]).toEqual([updated, false]);
    // With other kinds, and another limit.
    expect((await ask({ after: page.next, limit: 3 })).events).toEqual([]);
  });

  it('reads at most 2 MiB for a page, which may be empty with more: true', async () => {
    const client = house.newClient();
    const ask = feedOf(client);
    const begun = await ask();
    for (let push = 0; push < 80; push += 1) await client.announce(500);
    const wanted = await client.announce(1, 'supplier.updated');
    const first = await ask({ after: begun.next, events: 'supplier.updated' });
    expect([first.events.length, first.more]).toEqual([0, true]);
    const { ids, pages } = await readAll(ask, { after: begun.next, events: 'supplier.updated' });
    expect(ids).toEqual(wanted);
    expect(pages).toBeGreaterThan(1);
    const all = await readAll(ask, { after: begun.next, limit: 500 });
    expect(all.ids).toHaveLength(40_001);
    expect(new Set(all.ids).size).toBe(40_001);
  });

  it('moves the cursor of an integration without events to the end of the log', async () => {
    const [client, busy] = [house.newClient(), house.newClient()];
    const ask = feedOf(client);
    let { next } = await ask();
    await using admin = await openAdmin();
    for (let day = 0; day < 30; day += 1) {
      await busy.announce(1);
      ({ next } = await ask({ after: next }));
      await busy.announce(1);
      // All that is older than the last page is gone.
      await admin.keepLast(1);
      expect((await ask({ after: next })).events).toEqual([]);
    }
  });

  it.each([0, 10])('finds an event of %s s ago by since, and every later event', async (seconds) => {
    const client = house.newClient();
    const ask = feedOf(client);
    const now = Date.now() - seconds * 1_000;
    const at = (ms: number): string => new Date(now + ms).toISOString();
    await client.announce(1, 'supplier.created', at(-5_000));
    await client.announce(1, 'supplier.created', at(0));
    const later = await client.announce(1, 'supplier.created', at(1));
    const afterwards = await client.announce(1, 'supplier.created', at(-3_000));
    expect(idsOf(await ask({ since: at(0) }))).toEqual([...later, ...afterwards]);
    expect(idsOf(await ask({ since: '2020-01-01' }))).toHaveLength(4);
  });

  it('has cursors that keep a parameter since in the future', async () => {
    const client = house.newClient();
    const ask = feedOf(client);
    const ahead = Date.now() + 3_600_000;
    const first = await ask({ since: new Date(ahead).toISOString() });
    await client.announce(1, 'supplier.created', new Date(ahead).toISOString());
    const second = await ask({ after: first.next });
    const ids = await client.announce(1, 'supplier.created', new Date(ahead + 1).toISOString());
    expect([idsOf(second), idsOf(await ask({ after: second.next }))]).toEqual([[], ids]);
  });
});

describe('the feed refuses', () => {
  const wrong: [name: string, query: string, pointers: string[]][] = [
    ['after beside since', 'after=PLACE&since=2026-01-01', ['since']],
    ['an altered place', 'after=PLACEx', ['after']],
    ['no place', 'after=', ['after']],
    ['limit=0', 'limit=0', ['limit']],
    ['wait=26', 'wait=26', ['wait']],
    ['half a second', 'wait=0.5', ['wait']],
    ['a parameter twice', 'limit=5&limit=5', ['limit']],
    ['an unknown kind', 'events=supplier.created,supplier.eaten', ['events']],
    ['no kind', 'events=', ['events']],
    ['a day that does not exist', 'since=2026-02-30', ['since']],
    [
      'wrong values of every parameter',
      'after=x&since=y&limit=-1&wait=x&events=z',
      ['since', 'since', 'events', 'limit', 'wait', 'after'],
    ],
  ];
  it.each(wrong)('a wrong query: %s', async (_name, query, pointers) => {
    const client = house.newClient();
    const { next } = await feedOf(client)();
    const failure = await failureOf(feedOf(client)(query.replace('PLACE', next)));
    expect([failure.code, failure.errors?.map(({ pointer }) => pointer)]).toEqual([
      'invalid_request',
      pointers,
    ]);
  });

  it('a cursor of another integration', async () => {
    const [client, other] = [house.newClient(), house.newClient()];
    const { next } = await feedOf(client)();
    expect(await failureOf(feedOf(other)({ after: next }))).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: 'after' }],
    });
  });

  it('an expired cursor, with the time of the oldest event', async () => {
    const client = house.newClient();
    const ask = feedOf(client);
    const { next } = await ask();
    await client.announce(2);
    const keptFrom = Date.now();
    await client.announce(1);
    await using admin = await openAdmin();
    await admin.keepLast(1);
    const failure = await failureOf(ask({ after: next }));
    expect(failure.code).toBe('conflict');
    const [time = ''] = /\d{4}-[\dT:.-]+Z/.exec(failure.detail) ?? [];
    expect(Date.parse(time)).toBeGreaterThanOrEqual(keptFrom);
  });
});

describe('a feed call that waits', () => {
  it('is answered immediately if an event exists, else as soon as an event is announced', async () => {
    const client = house.newClient();
    const ask = feedOf(client);
    const { next } = await ask();
    const waited = ask({ after: next, wait: 25 });
    await untilWaiting(serving, 1);
    const startedAt = awake();
    const ids = await client.announce(2);
    const page = await waited;
    expect(idsOf(page)).toEqual(ids);
    expect(awake() - startedAt).toBeLessThan(2_000);
    expect(idsOf(await ask({ after: next, wait: 25 }))).toEqual(ids);
  });

  // Setup: one replica, so that each poll finds what the one before left behind.
  it('immediately returns an event that occurred between two calls', async () => {
    await using own = await openHouse();
    const replica = await own.start();
    const client = own.newClient();
    let { next } = await askFeed(own.bus, client.integration);
    for (let turn = 0; turn < 3; turn += 1) {
      const empty = await askFeed(own.bus, client.integration, { after: next, wait: 1 });
      const ids = await client.announce(1);
      const startedAt = awake();
      const page = await askFeed(own.bus, client.integration, { after: empty.next, wait: 25 });
      expect([idsOf(empty), idsOf(page)]).toEqual([[], ids]);
      expect(awake() - startedAt).toBeLessThan(900);
      ({ next } = page);
    }
    const metrics = await (await fetch(replica.metricsUrl)).text();
    expect(metrics).toMatch(/webhook_feed_lost_wakes_total\S* 0\n/);
  });

  it('waits on after an event of another kind, and returns a cursor after that event', async () => {
    const client = house.newClient();
    const ask = feedOf(client);
    const { next } = await ask();
    const startedAt = performance.now();
    const waited = ask({ after: next, wait: 2, events: 'supplier.updated' });
    await client.announce(3);
    const page = await waited;
    expect([page.events, page.more]).toEqual([[], false]);
    expect(performance.now() - startedAt).toBeGreaterThan(1_900);
    expect((await ask({ after: page.next })).events).toEqual([]);
  });

  it('is refused while 50 calls of its integration wait, and calls of other integrations wait on', async () => {
    const [client, other] = [house.newClient(), house.newClient()];
    const { next } = await feedOf(client)();
    const stop = new AbortController();
    const waiting = Array.from({ length: 50 }, () =>
      feedOf(client)({ after: next, wait: 25 }, stop.signal).catch(() => undefined),
    );
    await untilWaiting(serving, 50);
    const refused = await failureOf(feedOf(client)({ after: next, wait: 25 }));
    expect([refused.code, refused.retryAfterSeconds]).toEqual(['unavailable', 5]);
    // Who does not wait is answered all the same.
    expect((await feedOf(client)({ after: next })).events).toEqual([]);
    expect((await feedOf(other)({ wait: 1 })).events).toEqual([]);
    // Callers that hang up leave their places.
    stop.abort(new Error('hung up'));
    await Promise.all(waiting);
    expect((await feedOf(client)({ after: next, wait: 1 })).events).toEqual([]);
  });

  // Setup: a user of NATS whom the server lets hear no announcement, so that each of them is lost.
  it('returns within some seconds an event whose announcement was lost', async () => {
    const denied = '{ user: deaf, password: p, permissions: { subscribe: { deny: "event-batches.>" } } }';
    await using own = await openHouse({
      natsLines: [
        'jetstream { store_dir: $NATS_STORE_DIR, sync_interval: always }',
        'no_auth_user: all',
        `authorization { users: [ { user: all, password: p }, ${denied} ] }`,
      ],
    });
    const replica = await own.start({}, { NATS_URL: own.nats.url.replace('//', '//deaf:p@') });
    const [client, quiet] = [own.newClient(), own.newClient()];
    const waiting = await Promise.all(
      [client, quiet].map(async ({ integration }) => {
        const { next } = await askFeed(own.bus, integration);
        return askFeed.bind(undefined, own.bus, integration, { after: next, wait: 8 });
      }),
    );
    const [waited, others] = waiting.map((ask) => ask());
    await sleep(1_500);
    const startedAt = awake();
    const ids = await client.announce(2);
    expect(waited === undefined ? [] : idsOf(await waited)).toEqual(ids);
    expect(awake() - startedAt).toBeLessThan(4_000);
    expect((await others)?.events).toEqual([]);
    const metrics = await (await fetch(replica.metricsUrl)).text();
    expect(metrics).toMatch(/webhook_feed_lost_wakes_total\S* 1\n/);
    expect(metrics).toMatch(/webhook_feed_events_total\S* 2\n/);
    expect(metrics).toMatch(/webhook_feed_waiting\S* 0\n/);
  });

  // Setup: NATS goes and comes back while callers wait; the bus asks once more, as each of them may be asked twice.
  it('misses no event after NATS was unavailable', async () => {
    await using own = await openHouse();
    await own.start();
    const client = own.newClient();
    const { next } = await askFeed(own.bus, client.integration);
    const waited = askFeed(own.bus, client.integration, { after: next, wait: 25 }).catch(() => undefined);
    await sleep(300);
    await own.nats.kill();
    await expect.poll(() => own.bus.connected, { timeout: 20_000 }).toBe(true);
    const ids = await retried(() => client.announce(1));
    const page = (await waited) ?? (await askFeed(own.bus, client.integration, { after: next, wait: 5 }));
    const shown =
      page.events.length > 0
        ? page
        : await askFeed(own.bus, client.integration, { after: page.next, wait: 5 });
    expect(idsOf(shown)).toEqual(ids);
  });

  it('is answered immediately by a replica that stops', async () => {
    await using own = await openHouse();
    const replica = await own.start();
    const { next } = await askFeed(own.bus, 'acme');
    const waited = Array.from({ length: 20 }, () => askFeed(own.bus, 'acme', { after: next, wait: 25 }));
    await untilWaiting(replica, 20);
    const startedAt = awake();
    await replica[Symbol.asyncDispose]();
    for (const page of await Promise.all(waited)) expect(page.events).toEqual([]);
    expect(awake() - startedAt).toBeLessThan(5_000);
  });
});

/** JetStream answers a moment after its server does. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let turn = 0; ; turn += 1) {
    try {
      return await work();
    } catch (error) {
      if (turn === 40) throw error;
      await sleep(250);
    }
  }
}

async function openAdmin() {
  const nats = await connect({ servers: house.nats.url });
  const manager = await jetstreamManager(nats);
  return {
    async keepLast(count: number): Promise<void> {
      await manager.streams.purge('EVENT_BATCHES', { keep: count });
    },
    async [Symbol.asyncDispose]() {
      await nats.close();
    },
  };
}
