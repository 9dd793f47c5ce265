// A roll from the release before to this one under load, service by service as docs/operating.md has it, and back. On the way there
// replicas of both releases stand beside each other. The tests build on each other, in their order.
import { randomUUID } from 'node:crypto';
import { partitionTransform, storedBatchesRepublished } from '@integration-sync/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFailed } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openMixedSystem, type MixedSystem } from '../support/mixed-system.ts';
import { openReceiver, type Hit, type Receiver } from '../support/receiver.ts';
import { openRollingLoad, type RollingLoad } from '../support/rolling-load.ts';
import { openWorld, type Caller, type World } from '../support/sync.ts';

const closing = new AsyncDisposableStack();
const hourMs = 3_600_000;
/** The kinds that the release before knows. */
const kinds = ['supplier', 'product', 'batch'].flatMap((kind) => [`${kind}.created`, `${kind}.updated`]);
const events = [...kinds, 'dds.created', 'sync.completed'];
/** Whether a start changed more of a stream than the window of duplicates, which each release sets. */
const changedMore = (line: string): boolean =>
  line.includes('differed and was changed') && !line.includes('"differing":["duplicate_window"]');
/** This release has nats-server publish event batches again, and remember ids for a shorter time. */
const formerNote =
  /^NATS has (EVENTS with another duplicate_window|EVENT_BATCHES with another (duplicate_window|(duplicate_window, )?republish)) than this release says/;

let world: World;
let system: MixedSystem;
let receiver: Receiver;
let load: RollingLoad;
/** Pushes batches whose statements have numbers. */
let lots: Caller;
/** Expectations of suppliers whose push does not come, and whose push comes. */
const absent: Expected[] = [];
const pushed: Expected[] = [];

beforeAll(async () => {
  world = closing.use(await openWorld(inject('engines').mongodb));
  receiver = closing.use(await openReceiver());
  system = closing.use(await openMixedSystem(world.environment));
  await Promise.all([
    system.start('catalog', 'former'),
    system.start('batches', 'former'),
    system.start('webhooks', 'former'),
    system.start('webhooks', 'former'),
    system.start('gateway', 'former'),
  ]);
  await expectReady();
  load = await startLoad();
  closing.defer(() => load.end());
}, 120_000);
// A failed try has ended its load, or has left failures in it.
beforeEach(() =>
  onTestFailed(async () => {
    await load.end();
    load = await startLoad();
  }),
);
afterAll(() => closing.disposeAsync());

async function startLoad(): Promise<RollingLoad> {
  const integration = `load-${randomUUID()}`;
  await register(integration, `/${integration}`, events);
  await world.caller(integration).push('products', [{ externalId: 'P', name: 'P' }]);
  return openRollingLoad(system, integration);
}

async function register(integration: string, path: string, kindsOf: readonly string[]): Promise<string> {
  const url = new URL(path, receiver.url).href;
  const asked = { url, events: kindsOf };
  const found = await eventually(
    async () => {
      const made = await system.call(integration, 'POST', '/webhook-events', asked);
      if (made.status === 201) return made.body.id;
      // A service that has just started may answer too late, though it has registered the webhook.
      const listed = await system.call(integration, 'GET', '/webhook-events');
      const all: { id: string; url: string }[] = listed.body.entities ?? [];
      return all.find((one) => one.url === url)?.id;
    },
    (id) => id !== undefined,
    30_000,
  );
  return found ?? '';
}

const hitsOn = (path: string): Hit[] => receiver.hits.filter((hit) => hit.path === path);
const idOf = ({ headers }: Hit): string => headers['webhook-id'] ?? '';

async function expectReady(): Promise<void> {
  const { status, body } = await eventually(
    () => system.readiness(),
    (answer) => answer.status === 200,
    30_000,
  );
  expect(status).toBe(200);
  const notes: { detail: string }[] = body.notes ?? [];
  expect(notes.filter(({ detail }) => !formerNote.test(detail))).toEqual([]);
}

/** What happened to the integration of a load, once and no more: on both streams, in the feed, and at the receiver. */
async function expectWhole(ended: RollingLoad): Promise<void> {
  const caller = world.caller(ended.integration);
  // The product that the batches refer to was pushed before the load began.
  const expected = [...ended.expectedEvents(), 'product.created P', 'sync.completed'].toSorted();
  const seen = await eventually(
    () => caller.events(),
    (all) => all.length >= expected.length,
    30_000,
  );
  const words = seen.map(({ body: { event, data } }) =>
    'batchExternalId' in data
      ? `${event} ${data.batchExternalId}`
      : 'externalId' in data
        ? `${event} ${data.externalId}`
        : event,
  );
  expect(words.toSorted()).toEqual(expected);
  const ids = seen.map(({ id }) => id).toSorted();
  expect(new Set(ids).size).toBe(ids.length);
  expect((await caller.batched()).toSorted()).toEqual(ids);
  const completed = seen.flatMap(({ body }) =>
    body.event === 'sync.completed' && 'syncId' in body.data ? [body.data.syncId] : [],
  );
  expect(completed).toEqual(expect.arrayContaining(ended.pushes.map(({ syncId }) => syncId)));
  await eventually(
    () => hitsOn(`/${ended.integration}`),
    (hits) => new Set(hits.map(idOf)).size >= ids.length,
    30_000,
  );
  const delivered = hitsOn(`/${ended.integration}`).map(idOf);
  expect([...new Set(delivered)].toSorted()).toEqual(ids);
  await eventually(
    () => ended.fed.length,
    (count) => count >= ids.length,
    30_000,
  );
  await ended.end();
  expect(ended.fed.toSorted()).toEqual(ids);
  expect(ended.failures).toEqual([]);
}

interface Turn {
  integration: string;
  path: string;
  id: string;
}

/** Endpoints of integrations that are spread over the partitions; each fails two attempts at its first event. */
async function openTurns(name: string): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let nth = 0; nth < 6; nth += 1) {
    const integration = `${name}-${nth}-${randomUUID()}`;
    const path = `/${integration}`;
    turns.push({ integration, path, id: await register(integration, path, ['supplier.created']) });
  }
  const paths = new Set(turns.map(({ path }) => path));
  // Those that were opened before have had their failures.
  receiver.behave(({ path }, response) => {
    const fails = paths.has(path) && hitsOn(path).length <= 2;
    response.writeHead(fails ? 500 : 204).end();
  });
  await pushEach(turns, 'first');
  return turns;
}

const pushEach = (turns: readonly Turn[], externalId: string): Promise<unknown> =>
  Promise.all(
    turns.map(({ integration }) =>
      world.caller(integration).push('suppliers', [{ externalId, name: externalId }]),
    ),
  );

const untilHit = (turns: readonly Turn[], count: number): Promise<unknown> =>
  eventually(
    () => turns.map(({ path }) => hitsOn(path).length),
    (counts) => counts.every((one) => one >= count),
    30_000,
  );

/** The third attempt delivered the first event, and each other event took one. */
async function expectTurns(turns: readonly Turn[], others: number): Promise<void> {
  await untilHit(turns, 3 + others);
  for (const { integration, path, id } of turns) {
    expect(hitsOn(path)).toHaveLength(3 + others);
    expect(new Set(hitsOn(path).map(idOf)).size).toBe(1 + others);
    // The owner stores a success once its receiver has answered.
    await eventually(
      () => system.call(integration, 'GET', `/webhook-events/${id}`),
      ({ body }) => body.active === true && body.consecutiveFailures === 0,
    );
    const { body: log } = await eventually(
      () => system.call(integration, 'GET', `/webhook-events/${id}/deliveries`),
      ({ body }) => body.entities.length >= 3 + others,
    );
    const attempts: { attempt: number; outcome: string }[] = log.entities;
    expect(attempts.slice(others).map(({ attempt, outcome }) => `${attempt} ${outcome}`)).toEqual([
      '3 succeeded',
      '2 failed',
      '1 failed',
    ]);
  }
}

async function streamFacts(): Promise<object[]> {
  const nats = await connect({ servers: world.nats.url });
  try {
    const infos = await Array.fromAsync((await jetstreamManager(nats)).streams.list());
    return infos.map(({ config: { name, compression, republish, subject_transform: moved } }) => ({
      name,
      compression,
      republish: republish?.dest,
      moved: moved?.dest,
    }));
  } finally {
    await nats.close();
  }
}

describe('beside replicas of the release before', () => {
  it('a new owner of either release continues the retry schedule of an endpoint whose former owner had the other release', async () => {
    const forth = await openTurns('forth');
    await untilHit(forth, 2);
    await system.roll('webhooks', 'present');
    await expectReady();
    const back = await openTurns('back');
    await untilHit(back, 2);
    await pushEach(forth, 'second');
    await expectTurns(forth, 1);

    const [one, other] = system.replicasOf('webhooks');
    if (one === undefined || other === undefined) throw new Error('two replicas of webhooks run');
    await system.start('webhooks', 'former');
    await system.stop('webhooks', one);
    await pushEach(back, 'second');
    await expectReady();
    await system.stop('webhooks', other);
    await expectTurns(back, 1);
    await system.roll('webhooks', 'present');
    await pushEach([...forth, ...back], 'third');
    await expectTurns([...forth, ...back], 2);
    await system.start('webhooks', 'present');
    await expectReady();
    expect(load.failures).toEqual([]);
  });

  it('streams stay as this release made them, though replicas of the release before have started since', async () => {
    expect(await streamFacts()).toEqual([
      { name: 'ATTEMPTS', compression: 'none', republish: undefined, moved: undefined },
      { name: 'EVENTS', compression: 's2', republish: undefined, moved: undefined },
      {
        name: 'EVENT_BATCHES',
        compression: 's2',
        republish: storedBatchesRepublished.dest,
        moved: partitionTransform.dest,
      },
    ]);
    // Those that have started since found the streams as they want them.
    for (const { lines } of system.replicasOf('webhooks')) expect(lines.filter(changedMore)).toEqual([]);
  });

  it('a listing on a subject whose last token is the integration is answered once a replica of this release runs', async () => {
    const [own, other] = [world.caller(), world.caller()];
    await own.push('suppliers', [{ externalId: 'S', name: 'S' }]);
    const ask = async (noun: string): Promise<unknown> => {
      const headers = { integration: other.integration, 'request-id': randomUUID() };
      const reply = await world.bus.request(`${noun}.${own.integration}`, { headers, timeoutMs: 10_000 });
      return JSON.parse(Buffer.from(reply.body).toString()).total;
    };
    await expect(ask('svc.catalog.suppliers.list')).rejects.toMatchObject({ code: 'unavailable' });
    const present = await system.start('catalog', 'present');
    onTestFailed(() => system.stop('catalog', present));
    await expectReady();
    await load.untilPushed(15);
    for (let nth = 0; nth < 20; nth += 1) expect(await ask('svc.catalog.suppliers.list')).toBe(1);
    await expect(ask('svc.batches.dds.list')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('pushes that a replica of the release before handles keep the reference and verification numbers of a statement', async () => {
    await expectAbsences();
    await system.start('batches', 'present');
    await expectReady();
    lots = world.caller();
    await lots.push('products', [{ externalId: 'P', name: 'P', hsCode: '4407', country: 'SE' }]);
    // Some begin as drafts, which either release has made.
    for (const one of lotsWith(() => ({})).slice(0, 3))
      await lots.push('batches', [one], { autoCreateDDS: true });
    const numbered = lotsWith((nth) => ({
      ddsReferenceNumber: `REF-${nth}`,
      ddsVerificationNumber: `V-${nth}`,
    }));
    for (const one of numbered)
      await eventually(
        () => lots.push('batches', [one]).then(() => numbersOf(one.externalId)),
        (numbers) => numbers === `${one.ddsReferenceNumber} ${one.ddsVerificationNumber}`,
      );
    for (let round = 0; round < 4; round += 1)
      for (const one of lotsWith((nth) => ({ quantity: round * 10 + nth })))
        await lots.push('batches', [one], { autoCreateDDS: true });
    await lots.archive('batches', ['B-0', 'B-1']);
    for (const one of lotsWith(() => ({}))) await lots.push('batches', [one]);
    await expectAgreed(numbered);
    await system.stop('batches', first(system.replicasOf('batches')));
    await lots.push('batches', numbered);
    await expectAgreed(numbered);
    const announced = (await lots.events()).filter(({ body }) => body.event.startsWith('dds.'));
    const created = announced.filter(({ body }) => body.event === 'dds.created');
    expect(created).toHaveLength(6);
    // A draft gets its number once; a statement that is made with a number has not changed.
    expect(announced).toHaveLength(9);
  });

  it('a late push is announced as overdue once, and never a push that a replica of either release accepted in time', async () => {
    await system.start('catalog', 'present');
    for (const { integration, dueAt } of absent)
      await eventually(
        () => overdueOf(integration),
        (found) => found.length > 0,
        40_000,
      ).then((found) => expect(found).toEqual([dueAt]));
    for (const { integration } of pushed) expect(await overdueOf(integration)).toEqual([]);
    await system.stop('catalog', first(system.replicasOf('catalog')));
  });

  it('a rolling update under load fails no request, and each push is announced and delivered once', async () => {
    await system.roll('gateway', 'present');
    await expectReady();
    await load.untilPushed(15);
    await eventually(
      () => system.readiness(),
      ({ body }) => body.notes === undefined,
    );
    await load.endPushes();
    await expectWhole(load);
  });

  it('a rolling downgrade to the release before fails no request, and each push is announced and delivered once', async () => {
    await load.end();
    load = await startLoad();
    await load.untilPushed(15);
    for (const service of ['gateway', 'batches', 'catalog', 'webhooks'] as const) {
      await system.roll(service, 'former');
      await expectReady();
      await load.untilPushed(15);
    }
    await load.endPushes();
    await expectWhole(load);
    expect(await numbersOf('B-0')).toBe('REF-0 V-0');
  });
});

interface Expected {
  integration: string;
  dueAt: string;
}

/** Expects pushes within the hour, of which all but seconds have passed; half of them come. */
async function expectAbsences(): Promise<void> {
  for (let nth = 0; nth < 8; nth += 1) {
    const one = world.caller();
    const { integration } = one;
    await one.expect({ suppliers: { everyHours: 1 } });
    const due = new Date(Date.now() + 3_000);
    await world.store
      .collection<{ _id: string; setAt: Date; checkAt: Date }>('catalog_expectations')
      .updateOne(
        { _id: `${integration}/supplier` },
        { $set: { setAt: new Date(due.getTime() - hourMs), checkAt: due } },
      );
    const isPushed = nth % 2 === 0;
    if (isPushed) await one.push('suppliers', [{ externalId: 'S', name: 'S' }]);
    (isPushed ? pushed : absent).push({ integration, dueAt: due.toISOString() });
  }
}

const overdueOf = async (integration: string): Promise<string[]> =>
  (await world.caller(integration).events()).flatMap(({ body: { event, data } }) =>
    event === 'sync.overdue' && 'dueAt' in data ? [data.dueAt] : [],
  );

const lotsWith = <More extends object>(more: (nth: number) => More) =>
  Array.from({ length: 6 }, (_, nth) => ({
    externalId: `B-${nth}`,
    batchNumber: 'LOT',
    productExternalId: 'P',
    ...more(nth),
  }));

/** As they are stored: a listing of the release before shows the fields that it knows. */
async function numbersOf(externalId: string): Promise<string> {
  const { integration } = lots;
  const batch = await world.store
    .collection<{ _id: string; integration: string; externalId: string; fields: Record<string, string> }>(
      'batches',
    )
    .findOne({ integration, externalId });
  return `${batch?.fields['ddsReferenceNumber']} ${batch?.fields['ddsVerificationNumber']}`;
}

/** Each batch has its numbers, and one statement that has the same. */
async function expectAgreed(
  items: readonly { externalId: string; ddsReferenceNumber: string; ddsVerificationNumber: string }[],
): Promise<void> {
  for (const { externalId, ddsReferenceNumber, ddsVerificationNumber } of items)
    expect(await numbersOf(externalId)).toBe(`${ddsReferenceNumber} ${ddsVerificationNumber}`);
  const { entities, total } = await lots.dds('limit=100');
  expect(total).toBe(items.length);
  const shown = entities.map(({ batchExternalId, status, referenceNumber, verificationNumber }) => ({
    externalId: batchExternalId,
    status,
    ddsReferenceNumber: referenceNumber,
    ddsVerificationNumber: verificationNumber,
  }));
  expect(shown.toSorted((one, two) => one.externalId.localeCompare(two.externalId))).toEqual(
    items.map(({ externalId, ddsReferenceNumber, ddsVerificationNumber }) => ({
      externalId,
      status: 'REFERENCED',
      ddsReferenceNumber,
      ddsVerificationNumber,
    })),
  );
}

function first<One>([one]: readonly One[]): One {
  if (one === undefined) throw new Error('there is none');
  return one;
}
