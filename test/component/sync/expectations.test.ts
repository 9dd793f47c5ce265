// Expectations: a push that does not come is announced once for each due time, by whichever replica finds it.
import { Failure, type EventBody } from '@integration-sync/contracts';
import type { Stage } from '@integration-sync/sync';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { startStoppingService } from '../../support/stopping-service.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

const hourMs = 3_600_000;
const secondMs = 1_000;
/** The grace of 10 s, the 20 s in which a dead replica still holds a check, and the intervals of polls. */
const foundWithinMs = 60_000;

let world: World;
/** How far the clocks of the replicas are ahead of this machine's. */
let aheadMs = 0;
const now = (): number => Date.now() + aheadMs;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog({ now }), world.startCatalog({ now }), world.startBatches({ now })]);
});
afterAll(() => world[Symbol.asyncDispose]());

const supplier = { externalId: 's', name: 'N' };
const everyHour = { suppliers: { everyHours: 1 } };

interface Overdue {
  id: string;
  body: EventBody<'sync.overdue'>;
}

const overdueOf = async (caller: Caller): Promise<Overdue[]> =>
  (await caller.events()).flatMap(({ id, body }) =>
    body.event === 'sync.overdue' ? [{ id, body: body as Overdue['body'] }] : [],
  );

/** The announcements, once there are so many. */
const announced = (caller: Caller, count: number): Promise<Overdue[]> =>
  eventually(
    () => overdueOf(caller),
    (all) => all.length >= count,
    foundWithinMs,
  );

/** The stored expectations of the caller. */
const stored = (caller: Caller, where: World = world) =>
  where.store
    .collection<{ _id: string; integration: string; setAt: Date; checkAt: Date; pushedAt: Date | null }>(
      'catalog_expectations',
    )
    .find({ integration: caller.integration })
    .toArray();

/** Until no check of the caller's expectations is due. */
const checked = (caller: Caller) =>
  eventually(
    () => stored(caller),
    (all) => all.every(({ checkAt }) => checkAt.getTime() > now()),
    foundWithinMs,
  );

it('two replicas announce an overdue push once for each due time', async () => {
  const caller = world.caller();
  const before = now();
  const first = await caller.expect(everyHour);
  expect(first).toEqual({
    suppliers: { everyHours: 1, lastPushAt: null, dueAt: expect.any(String), isOverdue: false },
    products: null,
    batches: null,
  });
  const dueAt = first.suppliers?.dueAt ?? '';
  expect(Date.parse(dueAt) - before).toBeGreaterThanOrEqual(hourMs);
  expect(Date.parse(dueAt) - now()).toBeLessThanOrEqual(hourMs);

  aheadMs += hourMs + 11 * secondMs;
  const [event] = await announced(caller, 1);
  expect(event?.body).toEqual({
    event: 'sync.overdue',
    integrationId: caller.integration,
    timestamp: expect.any(String),
    data: { entityType: 'supplier', everyHours: 1, lastPushAt: null, dueAt },
  });
  expect(Date.parse(event?.body.timestamp ?? '') - Date.parse(dueAt)).toBeLessThanOrEqual(60 * secondMs);
  expect(event?.id).toMatch(/^exp_[0-9a-f]{32}-overdue-\d+$/);
  expect((await caller.expectations()).suppliers).toMatchObject({ isOverdue: true, dueAt });

  // Hours without a push have no due time of their own.
  aheadMs += 3 * hourMs;
  await checked(caller);
  const { syncId } = await caller.push('suppliers', [supplier]);
  const { completedAt } = await caller.run(syncId);
  expect((await caller.expectations()).suppliers).toEqual({
    everyHours: 1,
    lastPushAt: completedAt,
    dueAt: new Date(Date.parse(completedAt ?? '') + hourMs).toISOString(),
    isOverdue: false,
  });
  aheadMs += hourMs + 11 * secondMs;
  const both = await announced(caller, 2);
  expect(both.map(({ body }) => body.data.lastPushAt)).toEqual([null, completedAt]);
  await checked(caller);
  expect(await overdueOf(caller)).toHaveLength(2);
  // Webhooks delivers from the log.
  const batched = await caller.batched();
  expect(batched.filter((id) => id.startsWith('exp_'))).toEqual(both.map(({ id }) => id));
});

it('an archiving, an empty push and a push of failed items count as pushes, for each kind', async () => {
  const caller = world.caller();
  await caller.push('suppliers', [supplier]);
  await caller.expect({
    suppliers: { everyHours: 2 },
    products: { everyHours: 2 },
    batches: { everyHours: 2 },
  });
  aheadMs += hourMs;
  const runs = {
    suppliers: await caller.archive('suppliers', ['s']),
    products: await caller.push('products', []),
    batches: await caller.push('batches', [{}]),
  };
  const expectations = await caller.expectations();
  for (const kind of ['suppliers', 'products', 'batches'] as const) {
    const { completedAt } = await caller.run(runs[kind].syncId);
    expect(expectations[kind]?.lastPushAt).toBe(completedAt);
  }
  aheadMs += hourMs + 30 * secondMs;
  await checked(caller);
  expect(await overdueOf(caller)).toEqual([]);
});

it('an integration that pushes one second before its due time is not overdue, and one that does not push is', async () => {
  const callers = Array.from({ length: 12 }, () => world.caller());
  const neighbour = world.caller();
  const dueAts = await Promise.all(
    [...callers, neighbour].map(async (one) =>
      Date.parse((await one.expect(everyHour)).suppliers?.dueAt ?? ''),
    ),
  );
  aheadMs += Math.min(...dueAts) - now() - secondMs;
  await Promise.all(callers.map((one) => one.push('suppliers', [supplier])));
  aheadMs += 20 * secondMs;
  await announced(neighbour, 1);
  await Promise.all(callers.map(checked));
  for (const one of callers) expect(await overdueOf(one)).toEqual([]);
  // The check has found each push, and waits for the next due time.
  const found = await Promise.all(callers.map(async (one) => (await stored(one))[0]?.pushedAt));
  expect(found).not.toContain(null);
});

it('no push is overdue once the expectation is removed, or before its changed due time', async () => {
  const [ended, longer, same] = [world.caller(), world.caller(), world.caller()];
  for (const one of [ended, longer, same]) await one.expect(everyHour);
  expect(await ended.expect({ suppliers: null })).toMatchObject({ suppliers: null });
  await longer.expect({ suppliers: { everyHours: 744 } });
  aheadMs += hourMs / 2;
  // The same hours again, or none of the kind, move nothing.
  const before = await same.expectations();
  expect(await same.expect({ ...everyHour, products: null })).toEqual(before);
  expect(await same.expect(before)).toEqual(before);
  aheadMs += hourMs / 2 + 11 * secondMs;
  await announced(same, 1);
  await checked(longer);
  expect(await overdueOf(ended)).toEqual([]);
  expect(await overdueOf(longer)).toEqual([]);
});

/** The error, and that nothing was set. */
const refusal = async (body: object | string, strict = false) => {
  const caller = world.caller();
  const error: unknown = await caller.expect(body, { strict }).catch((thrown: unknown) => thrown);
  expect(await caller.expectations()).toEqual({ suppliers: null, products: null, batches: null });
  if (!(error instanceof Failure)) throw new Error(`was taken: ${JSON.stringify(error)}`);
  return { code: error.code, pointers: error.errors?.map(({ pointer }) => pointer) };
};

describe('the body of an expectation', () => {
  it.each([
    ['0', { suppliers: { everyHours: 0 } }, ['/suppliers/everyHours']],
    ['745', { suppliers: { everyHours: 745 } }, ['/suppliers/everyHours']],
    ['1.5', { suppliers: { everyHours: 1.5 } }, ['/suppliers/everyHours']],
    ['a text', { suppliers: { everyHours: '26' } }, ['/suppliers/everyHours']],
    ['no hours', { suppliers: {} }, ['/suppliers/everyHours']],
    ['hours alone', { suppliers: 26 }, ['/suppliers']],
    ['a kind that is none', { supplier: { everyHours: 26 } }, ['/supplier']],
    ['nothing', {}, ['']],
    ['an array', [], ['']],
    ['a kind twice', '{"suppliers":{"everyHours":1},"suppliers":null}', ['/suppliers']],
    ['hours twice', '{"suppliers":{"everyHours":1,"every\\u0048ours":2}}', ['/suppliers/everyHours']],
    [
      'several wrong values, beside a right one',
      '{"batches":{"everyHours":1},"x":1,"suppliers":{"everyHours":0},"products":5,"x":1}',
      ['/x', '/x', '/suppliers/everyHours', '/products'],
    ],
  ])('is refused whole with all errors for %s', async (_name, body, pointers) => {
    expect(await refusal(body)).toEqual({ code: 'invalid_request', pointers });
  });

  it('is refused where it is no JSON, and with strict handling for an unknown field', async () => {
    expect(await refusal('')).toMatchObject({ code: 'invalid_json' });
    const misspelt = { suppliers: { everyHours: 1, everyHour: 2 } };
    expect(await refusal(misspelt, true)).toMatchObject({ pointers: ['/suppliers/everyHour'] });
    expect((await world.caller().expect(misspelt)).suppliers).toMatchObject({ everyHours: 1 });
  });
});

/** As if the expectation had been set an hour ago. */
async function age(caller: Caller, where: World): Promise<void> {
  const [one] = await stored(caller, where);
  const setAt = new Date((one?.setAt.getTime() ?? 0) - hourMs - 11 * secondMs);
  await where.store
    .collection<{ integration: string; setAt: Date; checkAt: Date }>('catalog_expectations')
    .updateOne({ integration: caller.integration }, { $set: { setAt, checkAt: new Date() } });
}

describe('a replica that is killed', { timeout: 60_000 }, () => {
  it.each<[string, Stage]>([
    ['between storing and announcing', 'after-overdue'],
    ['between announcing and storing that', 'after-overdue-event'],
  ])('%s leaves an event that another replica publishes once', async (_name, stage) => {
    await using alone = await openWorld(inject('engines').mongodb);
    await using _batches = await alone.startBatches();
    await using dying = await startStoppingService('catalog', stage, alone.environment);
    const caller = alone.caller();
    await caller.expect(everyHour);
    await age(caller, alone);
    await dying.reached();
    await dying.kill();
    expect(await overdueOf(caller)).toHaveLength(stage === 'after-overdue' ? 0 : 1);
    // The dead replica holds the check for 20 s, in which a push comes.
    await using _serving = await alone.startCatalog();
    await caller.push('suppliers', [supplier]);
    await using survivor = await alone.startCatalog({ now: () => Date.now() + 21 * secondMs });
    await eventually(
      () => alone.store.collection('catalog_expectations').countDocuments({ 'overdue.isAnnounced': true }),
      (count) => count === 1,
      foundWithinMs,
    );
    const [event, ...others] = await overdueOf(caller);
    expect(event?.body.data).toMatchObject({ lastPushAt: null });
    expect(others).toEqual([]);
    expect((await caller.batched()).filter((id) => id.startsWith('exp_'))).toHaveLength(1);
    const metrics = await (await fetch(survivor.metricsUrl)).text();
    expect(metrics).toMatch(/^sync_overdue\{kind="supplier",service="catalog"\} 1$/m);
    expect(metrics).toMatch(/^sync_overdue\{kind="batch",service="catalog"\} 0$/m);
  });
});

it('a push with a time in the future counts as made when the check for overdue pushes first reads that time', async () => {
  await using alone = await openWorld(inject('engines').mongodb);
  const caller = alone.caller();
  const early = await alone.startCatalog({ now: () => Date.now() + 24 * hourMs });
  await caller.push('suppliers', [supplier]);
  await early[Symbol.asyncDispose]();
  let laterMs = 0;
  await using _right = await alone.startCatalog({ now: () => Date.now() + laterMs });
  const { suppliers } = await caller.expect(everyHour);
  expect(Date.parse(suppliers?.lastPushAt ?? '')).toBeLessThanOrEqual(Date.now());
  laterMs += hourMs + 11 * secondMs;
  await eventually(
    () => stored(caller, alone),
    ([one]) => one?.pushedAt !== null && (one?.checkAt.getTime() ?? 0) > Date.now() + laterMs,
    foundWithinMs,
  );
  expect(await overdueOf(caller)).toEqual([]);
  laterMs += hourMs + 11 * secondMs;
  expect(await announced(caller, 1)).toHaveLength(1);
});

it('an expectation is checked in time by a replica that starts once a clock that was a year ahead is set right', async () => {
  await using alone = await openWorld(inject('engines').mongodb);
  const caller = alone.caller();
  await using _batches = await alone.startBatches();
  const early = await alone.startCatalog();
  await caller.expect(everyHour);
  await early[Symbol.asyncDispose]();
  const ahead = await alone.startCatalog({ now: () => Date.now() + 365 * 24 * hourMs });
  expect(await announced(caller, 1)).toHaveLength(1);
  await ahead[Symbol.asyncDispose]();
  await using _right = await alone.startCatalog();
  await caller.push('suppliers', [supplier]);
  const overdue = { integration: caller.integration, overdue: { $exists: true } };
  await eventually(
    () => alone.store.collection('catalog_expectations').countDocuments(overdue),
    (count) => count === 0,
    foundWithinMs,
  );
});

it('a replica that was frozen sets no expectation by a request whose caller gave up meanwhile', async () => {
  await using alone = await openWorld(inject('engines').mongodb);
  await using replica = await startStoppingService('catalog', 'none', alone.environment);
  await alone.startBatches();
  const caller = alone.caller();
  await caller.expect({ products: { everyHours: 5 } });
  {
    using _frozen = await freeze([replica.pid]);
    const setting = alone.bus.request('svc.catalog.expectations.set', {
      headers: { integration: caller.integration },
      body: JSON.stringify({ suppliers: { everyHours: 7 }, products: null }),
      timeoutMs: 800,
    });
    await expect(setting).rejects.toMatchObject({ code: 'timeout' });
  }
  const after = await caller.expect({ batches: { everyHours: 9 } });
  expect(after).toMatchObject({ suppliers: null, products: { everyHours: 5 }, batches: { everyHours: 9 } });
});
