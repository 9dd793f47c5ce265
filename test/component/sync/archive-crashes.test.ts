// A process that dies in the middle of an archiving or an erasing, at every stage at which that makes a
// difference: survivors announce its work once, and a caller that asks again gets the right answer.
import { setTimeout as wait } from 'node:timers/promises';
import { stages, type Stage } from '@integration-sync/sync';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { anHourAhead, settledWithinMs } from '../../support/left-behind.ts';
import { startStoppingService } from '../../support/stopping-service.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

const isAnswered = (stage: Stage): boolean => stage === 'after-events' || stage === 'after-publish';

const isWritten = (stage: Stage): boolean =>
  !['before-entry', 'after-entry', 'amid-writes'].some((early) => early === stage);

const name = (index: number): string => `r${String(index).padStart(2, '0')}`;
const all = Array.from({ length: 60 }, (_, index) => name(index));
/** They have the status before the process that dies begins. */
const earlier = all.slice(0, 20);
const asked = [...all, 'unknown'];

const actions = ['archive', 'erase'] as const;
type StatusChange = (typeof actions)[number];

const change = (caller: Caller, action: StatusChange, ids: readonly string[]) =>
  action === 'archive' ? caller.archive('suppliers', ids) : caller.erase(ids);

interface Crashed {
  caller: Caller;
  action: StatusChange;
  stage: Stage;
}

async function crashAt(action: StatusChange, stage: Stage): Promise<Crashed> {
  const caller = world.caller();
  {
    await using _healthy = await world.startCatalog();
    await caller.push(
      'suppliers',
      all.map((externalId) => ({ externalId, name: 'N', code: 'C' })),
    );
    await change(caller, action, earlier);
  }
  // Nothing else serves, so that the request comes to the process that will die.
  await using service = await startStoppingService('catalog', stage, world.environment);
  const answer = change(caller, action, asked).then(
    () => true,
    () => false,
  );
  await service.reached();
  const answered = await Promise.race([answer, wait(isAnswered(stage) ? 10_000 : 200, false)]);
  expect(answered).toBe(isAnswered(stage));
  await service.kill();
  return { caller, action, stage };
}

async function expectSettled({ caller, action, stage }: Crashed): Promise<void> {
  const kind = action === 'archive' ? 'supplier.archived' : 'supplier.erased';
  const status = action === 'archive' ? 'ARCHIVED' : 'ERASED';
  const idsAnnounced = async (runs: number): Promise<string[]> => {
    const events = await eventually(
      () => caller.events(),
      (seen) => seen.filter(({ body }) => body.event === 'sync.completed').length === runs,
      settledWithinMs,
    );
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const batched = await eventually(
      () => caller.batched(),
      (ids) => ids.length >= events.length,
      settledWithinMs,
    );
    expect(batched.toSorted()).toEqual(events.map(({ id }) => id).toSorted());
    return events.flatMap(({ body }) =>
      body.event === kind && 'internalId' in body.data ? [body.data.internalId] : [],
    );
  };
  const { entities: runs } = await eventually(
    () => caller.runs(),
    ({ entities }) => entities.every(({ state }) => state === 'completed'),
    settledWithinMs,
  );
  const announced = await idsAnnounced(runs.length);
  const withStatus = (await caller.listAll('suppliers')).filter(({ syncStatus }) => syncStatus === status);
  // The survivors announced each change once; and where the process had answered or written, every change was
  // made.
  expect(announced.toSorted()).toEqual(withStatus.map(({ internalId }) => internalId).toSorted());
  expect(isWritten(stage) ? announced.length : all.length).toBe(all.length);

  const again = await change(caller, action, asked);
  expect(again.records.map((record) => record.status)).toEqual([...all.map(() => status), 'ERROR']);
  expect(again.errors).toMatchObject([{ externalId: 'unknown' }]);
  const settled = await idsAnnounced(runs.length + 1);
  expect(settled).toHaveLength(all.length);
  expect(new Set(settled).size).toBe(all.length);
  expect((await caller.list('suppliers')).total).toBe(all.length);
}

it(
  'archivings and erasings of a process that is killed at any stage are completed once',
  { timeout: 180_000 },
  async () => {
    const crashed: Crashed[] = [];
    for (const action of actions) {
      for (const stage of stages) crashed.push(await crashAt(action, stage));
    }
    // By their clocks, the dead process's work is due at once.
    await using _first = await world.startCatalog({ now: anHourAhead });
    await using _second = await world.startCatalog({ now: anHourAhead });
    await using _batches = await world.startBatches();
    await Promise.all(
      crashed.map((one) =>
        expectSettled(one).catch((error: unknown) => {
          throw new Error(`${one.action} killed ${one.stage}`, { cause: error });
        }),
      ),
    );
  },
);

it(
  'recovery announces no event of a supplier that was erased between the push and the recovery',
  { timeout: 60_000 },
  async () => {
    const caller = world.caller();
    await using service = await startStoppingService('catalog', 'before-answer', world.environment);
    const lost = caller.push('suppliers', [
      { externalId: 'a', name: 'N' },
      { externalId: 'b', name: 'N' },
    ]);
    lost.catch(() => undefined);
    await service.reached();
    await service.kill();
    {
      await using _healthy = await world.startCatalog();
      await caller.erase(['a']);
    }
    await using _recovering = await world.startCatalog({ now: anHourAhead });
    const events = await eventually(
      () => caller.events(),
      (seen) => seen.filter(({ body }) => body.event === 'sync.completed').length === 2,
      settledWithinMs,
    );
    const told = events.flatMap(({ body: { event, data } }) =>
      'externalId' in data ? [`${event} ${data.externalId}`] : [],
    );
    expect(told.toSorted()).toEqual(['supplier.created b', 'supplier.erased ']);
  },
);

it(
  'recovery dates the event of a supplier before a later change, and announces no archiving of a restored supplier',
  { timeout: 60_000 },
  async () => {
    const caller = world.caller();
    const ask = {
      push: (ids: readonly string[]) =>
        caller.push(
          'suppliers',
          ids.map((externalId) => ({ externalId, name: 'N' })),
        ),
      archive: (ids: readonly string[]) => caller.archive('suppliers', ids),
      erase: (ids: readonly string[]) => caller.erase(ids),
    };
    for (const [dying, later] of [
      ['archive', 'push'],
      ['erase', 'push'],
      ['push', 'archive'],
    ] as const) {
      const ids = ['changed', 'left'].map((id) => `${dying} ${id}`);
      {
        await using _healthy = await world.startCatalog();
        await ask.push(ids);
        if (dying === 'push') await ask.archive(ids);
      }
      await using service = await startStoppingService('catalog', 'after-writes', world.environment);
      ask[dying](ids).catch(() => undefined);
      await service.reached();
      await service.kill();
      // However slow this machine is, no replica takes the entry over before the last one.
      const due = new Date(Date.now() + 30 * 60_000);
      const { integration } = caller;
      await world.store
        .collection('catalog_journal')
        .updateMany({ integration, state: 'writing' }, { $set: { due } });
      await using _healthy = await world.startCatalog();
      await ask[later](ids.slice(0, 1));
    }
    await using _recovering = await world.startCatalog({ now: anHourAhead });
    const events = await eventually(
      () => caller.events(),
      (seen) => seen.filter(({ body }) => body.event === 'sync.completed').length === 10,
      settledWithinMs,
    );
    const inOrder = events.toSorted((one, other) => (one.body.timestamp < other.body.timestamp ? -1 : 1));
    const told = new Map<string, string[]>();
    const names = new Map<string, string>();
    for (const { body } of inOrder) {
      if (!('internalId' in body.data)) continue;
      const { internalId, externalId } = body.data;
      const supplier = names.getOrInsert(internalId, externalId);
      told.getOrInsert(supplier, []).push(body.event.replace('supplier.', ''));
    }
    // A reader that has copied a supplier from before its erasing must hear of the erasing.
    expect(Object.fromEntries(told)).toEqual({
      'archive changed': ['created', 'updated'],
      'archive left': ['created', 'archived'],
      'erase changed': ['created', 'erased', 'updated'],
      'erase left': ['created', 'erased'],
      'push changed': ['created', 'archived', 'updated', 'archived'],
      'push left': ['created', 'archived', 'updated'],
    });
  },
);

it(
  'recovery adds no event to the log again if a supplier was erased after its events were published',
  { timeout: 60_000 },
  async () => {
    const caller = world.caller();
    await using service = await startStoppingService('catalog', 'after-publish', world.environment);
    await caller.push(
      'suppliers',
      ['a', 'b', 'c'].map((externalId) => ({ externalId, name: 'N' })),
    );
    await service.reached();
    await service.kill();
    {
      await using _healthy = await world.startCatalog();
      await caller.erase(['b']);
    }
    await using _recovering = await world.startCatalog({ now: anHourAhead });
    const { integration } = caller;
    await eventually(
      () =>
        world.store
          .collection('catalog_journal')
          .countDocuments({ integration, state: { $ne: 'announced' } }),
      (unannounced) => unannounced === 0,
      settledWithinMs,
    );
    const batched = await caller.batched();
    expect(batched.map((id) => id.slice(id.indexOf('-') + 1))).toEqual(
      ['created-0', 'created-1', 'created-2', 'completed'].concat('erased-0', 'completed'),
    );
  },
);
