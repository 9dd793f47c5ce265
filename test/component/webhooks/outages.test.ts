// Deliveries go on after an engine was away, a stream was lost or a replica died.
import { eventsStreamSpec } from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { startMongodb } from '../../support/mongodb.ts';
import { hang, openReceiver, type Hit, type Receiver } from '../../support/receiver.ts';
import { startWebhookProcess, type WebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';
import { pause } from '../../support/pause.ts';

const receiversCount = 3;
const eventsPerTick = 17;
const tickMs = 100;

let mongodb: Engine;
let house: House;
beforeAll(async () => {
  mongodb = await startMongodb();
  house = await openHouse({ mongodbUrl: mongodb.url });
}, 120_000);
// A failed test may have left it dead.
afterEach(() => mongodb.resume());
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await mongodb[Symbol.asyncDispose]();
});

// The replica remembers the first endpoint, and cannot ask for the second.
it(
  'a delivery that waits for the database causes no duplicate at another endpoint',
  { timeout: 60_000 },
  async () => {
    await using _ = await house.start();
    await using remembered = await openReceiver();
    await using unknown = await openReceiver();
    const client = house.newClient();
    await client.register(remembered.url);
    await client.announce();
    await remembered.received(1);
    await client.register(unknown.url);
    mongodb.hold();
    await mongodb.kill();
    const [eventId] = await client.announce();
    await pause(4_000);
    await mongodb.resume();
    const isIt = ({ headers }: Hit): boolean => headers['webhook-id'] === eventId;
    await unknown.received(1, { withinMs: 20_000 });
    await remembered.received(1, { where: isIt });
    const hits = [remembered, unknown].map(({ hits: all }) => all.filter(isIt));
    expect(hits.map(({ length }) => length)).toEqual([1, 1]);
  },
);

it('a replica stops immediately, whatever it waits for', { timeout: 60_000 }, async () => {
  const replica = await house.start();
  mongodb.hold();
  await mongodb.kill();
  await Promise.all(Array.from({ length: 60 }, () => house.newClient().announce(10)));
  await pause(2_000);
  const beganAt = awake();
  await replica[Symbol.asyncDispose]();
  expect(awake() - beganAt).toBeLessThan(5_000);
});

it(
  'a stopping replica that cannot store its offsets begins no further attempt',
  { timeout: 60_000 },
  async () => {
    const replica = await house.start();
    await using receiver = await openReceiver();
    const client = house.newClient();
    await client.register(receiver.url);
    await client.announce();
    await receiver.received(1);
    receiver.behave(hang);
    await client.announce(20);
    await receiver.received(9);
    mongodb.hold();
    await mongodb.kill();
    await pause(3_000);
    const beganAt = awake();
    await replica[Symbol.asyncDispose]();
    expect([receiver.hits.length, awake() - beganAt < 5_000]).toEqual([9, true]);
  },
);

/** A stream that is created again is no older copy. */
const linesOfRestores = (before: number): string[] =>
  house.lines.slice(before).filter((line) => line.includes('from an older copy'));

async function deleteStream(name: string): Promise<void> {
  const nats = await connect({ servers: house.nats.url });
  await (await jetstreamManager(nats)).streams.delete(name);
  await nats.close();
}

it('webhooks delivers after it had to create EVENTS again', async () => {
  const before = house.lines.length;
  await using first = await house.start();
  await using receiver = await openReceiver();
  await house.newClient().announce(100);
  const client = house.newClient();
  await client.register(receiver.url);
  await client.announce();
  await receiver.received(1);
  const nats = await connect({ servers: house.nats.url });
  const { streams } = await jetstreamManager(nats);
  await streams.delete('EVENTS');
  await eventually(
    () =>
      streams.info('EVENTS').then(
        () => true,
        () => false,
      ),
    (isThere) => isThere,
    20_000,
  );
  await nats.close();
  // More than the stream before had, and many of them before a replica reads.
  await client.announce(150);
  expect(await receiver.received(151, { withinMs: 20_000 })).toHaveLength(151);
  // The next replica compares the stream with what the first one knew of it.
  await first[Symbol.asyncDispose]();
  await using _next = await house.start();
  await client.announce();
  await receiver.received(152, { withinMs: 20_000 });
  expect(linesOfRestores(before)).toEqual([]);
});

it('webhooks delivers the first events of EVENTS after catalog has created the stream again', async () => {
  await using _ = await house.start();
  await using receiver = await openReceiver();
  await house.newClient().announce(100);
  const client = house.newClient();
  await client.register(receiver.url);
  await client.announce();
  await receiver.received(1);
  await deleteStream('EVENTS');
  await house.bus.ensureStream(eventsStreamSpec({}));
  await client.announce(20);
  expect(await receiver.received(21, { withinMs: 20_000 })).toHaveLength(21);
});

it('a disabling after a restore of MongoDB has another id than a disabling that the restore has undone', async () => {
  await using other = await openReceiver();
  const client = house.newClient();
  const first = await house.start();
  const { id } = await client.register(other.url, ['supplier.created']);
  await client.register(other.url, ['webhook.disabled']);
  const disable = () => client.ask('change', { id, body: { active: false } });
  const endpoints = house.store.collection<{ _id: string }>('webhook_endpoints');
  const { _id, ...copy } = (await endpoints.findOne({ _id: id })) ?? { _id: id };
  await disable();
  await other.received(1);
  await first[Symbol.asyncDispose]();
  await endpoints.replaceOne({ _id }, copy);
  await using _next = await house.start();
  await disable();
  const hits = await other.received(2);
  expect(new Set(hits.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
});

it('requests that need the missing stream EVENTS are answered 503', async () => {
  await using _ = await house.start();
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url);
  await deleteStream('EVENTS');
  const asked = await Promise.allSettled([
    client.ask('register', { body: { url: receiver.url, events: ['supplier.created'] } }),
    client.ask('change', { id, body: { events: ['batch.created'] } }),
    client.ask('replay', { id, body: { since: new Date(0).toISOString() } }),
  ]);
  for (const refused of asked) expect(refused).toMatchObject({ reason: { code: 'unavailable' } });
});

it('endpoints whose offset is after the end of a restored stream get later events', async () => {
  await using receiver = await openReceiver();
  const client = house.newClient();
  const first = await house.start();
  const { id } = await client.register(receiver.url);
  await first[Symbol.asyncDispose]();
  const { lastSequence } = await house.bus.streamFacts('EVENTS');
  const endpoints = house.store.collection<{ _id: string; eventsAfter: number }>('webhook_endpoints');
  await endpoints.updateOne({ _id: id }, { $set: { eventsAfter: lastSequence + 1_000 } });
  await using _ = await house.start();
  await client.announce(3);
  expect(await receiver.received(3)).toHaveLength(3);
});

it('an endpoint whose kinds changed after the end of a restored stream gets events of its present kinds', async () => {
  await using receiver = await openReceiver();
  const client = house.newClient();
  const first = await house.start();
  const { id } = await client.register(receiver.url, ['batch.created']);
  await client.ask('change', { id, body: { events: ['supplier.created'] } });
  await first[Symbol.asyncDispose]();
  const { lastSequence } = await house.bus.streamFacts('EVENTS');
  const endpoints = house.store.collection<{ _id: string; eventsAfter: number }>('webhook_endpoints');
  const { eventsAfter = -1 } = (await endpoints.findOne({ _id: id })) ?? {};
  await endpoints.updateOne({ _id: id }, { $set: { 'earlierEvents.0.through': lastSequence + 1_000 } });
  await using _ = await house.start();
  await client.announce(3);
  expect(await receiver.received(3)).toHaveLength(3);
  expect(await endpoints.findOne({ _id: id })).toMatchObject({ eventsAfter, earlierEvents: [] });
});

it(
  'webhooks reads EVENT_BATCHES from its beginning after an operator deleted the stream',
  { timeout: 60_000 },
  async () => {
    const before = house.lines.length;
    await using _ = await house.start();
    await using receiver = await openReceiver();
    const client = house.newClient();
    await client.register(receiver.url);
    await client.announce(3);
    for (let n = 0; n < 30; n += 1) await client.announce();
    await receiver.received(33);
    await deleteStream('EVENT_BATCHES');
    const announce = (): Promise<string[]> => client.announce().catch(() => []);
    const [eventId] = await eventually(announce, (ids) => ids.length > 0, 30_000);
    const isIt = ({ headers }: Hit): boolean => headers['webhook-id'] === eventId;
    expect(await receiver.received(1, { withinMs: 20_000, where: isIt })).toHaveLength(1);
    expect(linesOfRestores(before)).toEqual([]);
  },
);

it('webhooks creates ATTEMPTS again when an operator deleted the stream', async () => {
  await using _ = await house.start();
  const nats = await connect({ servers: house.nats.url });
  const { streams } = await jetstreamManager(nats);
  await streams.delete('ATTEMPTS');
  const isThere = () =>
    streams.info('ATTEMPTS').then(
      () => true,
      () => false,
    );
  expect(await eventually(isThere, Boolean, 20_000)).toBe(true);
  await nats.close();
});

// Setup: two replicas as processes, NATS and MongoDB of this file's own, three healthy receivers, and 500
// deliveries a second.
// Timeline: services announce events all the time; the test kills a replica, NATS and MongoDB with SIGKILL in
// turn, and they come back by themselves or the test starts them again.
// What this proves: every event that the stream took reaches every endpoint, under one webhook-id.
it(
  'every event reaches every healthy endpoint although each process is killed once',
  { timeout: 180_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const client = house.newClient();
    const first = stack.use(await startWebhookProcess(house.environment));
    const replicas = [first, stack.use(await startWebhookProcess(house.environment))];
    const receivers: Receiver[] = [];
    const endpoints: string[] = [];
    for (let n = 0; n < receiversCount; n += 1) {
      const receiver = stack.use(await openReceiver());
      endpoints.push((await client.register(receiver.url)).id);
      receivers.push(receiver);
    }

    const announced: string[] = [];
    const over = new AbortController();
    stack.defer(() => over.abort());
    const announcing = (async () => {
      while (!over.signal.aborted) {
        // An event that the stream did not take was never announced.
        announced.push(...(await client.announce(eventsPerTick).catch(() => [])));
        await pause(tickMs);
      }
    })();

    await pause(3_000);
    await first.kill();
    await pause(3_000);
    replicas.push(stack.use(await startWebhookProcess(house.environment)));
    await house.nats.kill();
    await pause(5_000);
    await mongodb.kill();
    await pause(8_000);
    await eventually(
      () => announced.length,
      (count) => count > 1_000,
      60_000,
    );
    over.abort();
    await announcing;

    const missingOf = ({ hits }: Receiver): string[] => {
      const seen = new Set(hits.map(({ headers }) => headers['webhook-id']));
      return announced.filter((id) => !seen.has(id));
    };
    const missing = () => receivers.map(missingOf);
    await eventually(missing, (ids) => ids.flat().length === 0, 60_000).catch(async () => {
      throw new Error(await accountOf(client, { announced, missing: missing(), endpoints, replicas }));
    });
    expect(missing().flat()).toEqual([]);
  },
);

interface Missing {
  announced: readonly string[];
  /** Of each endpoint. */
  missing: readonly (readonly string[])[];
  endpoints: readonly string[];
  replicas: readonly WebhookProcess[];
}

/** Where events are that did not come: what can be known of a failure that one run in many has. */
async function accountOf(client: Client, { announced, missing, endpoints, replicas }: Missing) {
  const ofEndpoints = endpoints.map(async (id, nth) => {
    const ids = new Set(missing[nth]);
    const { body: endpoint } = await client.ask('get', { id });
    const pages = Array.from({ length: 30 }, (_, page) => `limit=100&page=${page + 1}`);
    const attempts = await Promise.all(pages.map((query) => client.ask('deliveries', { id, query })));
    return {
      endpoint,
      places: [...ids].map((eventId) => announced.indexOf(eventId)),
      attempts: attempts.flatMap(({ body }) => body.entities).filter(({ eventId }) => ids.has(eventId)),
    };
  });
  const streams = await house.bus.inspectStreams([]);
  const trouble = replicas.map(({ lines }) => lines.filter((line) => !line.includes('"level":"info"')));
  const account = { announced: announced.length, of: await Promise.all(ofEndpoints), streams, trouble };
  return `events did not come: ${JSON.stringify(account, undefined, 1)}`;
}
