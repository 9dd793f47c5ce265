// No integration takes a replica away from another.
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ending } from '../../support/ending.ts';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type World } from '../../support/sync.ts';
import type { RecordService } from '@integration-sync/sync';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

const silent = openLog({ service: 'test', level: 'silent' });

/** A catalog whose pushes wait for these before they write, in this order. */
function startHolding(holds: readonly (Promise<void> | undefined)[], pushesAtOnceMax: number) {
  const config = readConfig(CatalogConfig, {
    ...world.environment,
    PUSHES_AT_ONCE_MAX: String(pushesAtOnceMax),
  });
  let held = 0;
  return startCatalog(config, {
    log: silent,
    async onStage(stage) {
      if (stage === 'before-entry') await holds[held++];
    },
  });
}

const gauge = async ({ metricsUrl }: RecordService, name: string): Promise<string | undefined> =>
  new RegExp(`^sync_pushes_${name}\\{.*\\} (\\d+)$`, 'm').exec(await (await fetch(metricsUrl)).text())?.[1];

const item = (name: string) => [{ externalId: name, name }];

it('a replica carries out waiting pushes in turns over integrations, and answers listings meanwhile', async () => {
  const [released, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using catalog = await startHolding([undefined, ended.promise, released.promise], 1);
  const answered: string[] = [];
  const [holder, greedy, modest, other] = [world.caller(), world.caller(), world.caller(), world.caller()];
  const push = async (name: string, caller: typeof greedy, plural: 'suppliers' | 'products') => {
    const { created } = await caller.push(plural, item(name));
    expect(created).toBe(1);
    answered.push(name);
  };
  // The first of each takes longest, and nothing waits for longer than 2 s.
  await push('first', holder, 'suppliers');
  await greedy.list('suppliers');
  const held = push('h', holder, 'suppliers');
  using _end = ending(ended, released);
  await eventually(
    () => gauge(catalog, 'inside'),
    (count) => count === '1',
  );
  const pushes = ['g1', 'g2', 'g3'].map((name) => push(name, greedy, 'suppliers'));
  pushes.push(push('m', modest, 'suppliers'), push('o', other, 'products'));
  await eventually(
    () => gauge(catalog, 'waiting'),
    (count) => count === '4',
  );
  expect((await greedy.list('suppliers')).total).toBe(0);
  released.resolve();
  await Promise.all(pushes);
  ended.resolve();
  await held;
  expect(answered).toEqual(['first', 'g1', 'g2', 'm', 'o', 'g3', 'h']);
});

it('a replica keeps a permit to push free for an integration that has no running push', async () => {
  const released = Promise.withResolvers<void>();
  await using catalog = await startHolding([released.promise, released.promise], 2);
  using _end = ending(released);
  const [greedy, modest] = [world.caller(), world.caller()];
  const pushes = ['g1', 'g2'].map((name) => greedy.push('suppliers', item(name)));
  await eventually(
    () => gauge(catalog, 'inside'),
    (count) => count === '2',
  );
  expect(await modest.push('suppliers', item('m'))).toMatchObject({ created: 1 });
  released.resolve();
  await Promise.all(pushes);
});

it('pushes that wait for a push of the same record give their permits to pushes of other records', async () => {
  const released = Promise.withResolvers<void>();
  await using _catalog = await startHolding([released.promise], 2);
  using _end = ending(released);
  const caller = world.caller();
  const pushes = Array.from({ length: 5 }, () => caller.push('suppliers', item('same')));
  expect(await caller.push('suppliers', item('other'))).toMatchObject({ created: 1 });
  released.resolve();
  await Promise.allSettled(pushes);
});
