// No integration takes a replica away from another.
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

it('carries out waiting pushes of every kind in turns over integrations, and lists meanwhile', async () => {
  const released = Promise.withResolvers<void>();
  const config = readConfig(CatalogConfig, { ...world.environment, PUSHES_AT_ONCE_MAX: '1' });
  await using catalog = await startCatalog(config, {
    log: openLog({ service: 'test', level: 'silent' }),
    onStage: async (stage) => (stage === 'before-entry' ? released.promise : undefined),
  });
  const answered: string[] = [];
  const [greedy, modest, other] = [world.caller(), world.caller(), world.caller()];
  const push = async (name: string, caller: typeof greedy, plural: 'suppliers' | 'products') => {
    const { created } = await caller.push(plural, [{ externalId: name, name }]);
    expect(created).toBe(1);
    answered.push(name);
  };
  const pushes = ['g1', 'g2', 'g3', 'g4', 'g5'].map((name) => push(name, greedy, 'suppliers'));
  pushes.push(push('m', modest, 'suppliers'), push('o', other, 'products'));
  const waiting = async (): Promise<string | undefined> =>
    /^sync_pushes_waiting\{.*\} (\d+)$/m.exec(await (await fetch(catalog.metricsUrl)).text())?.[1];
  await eventually(waiting, (count) => count === '6');
  expect((await greedy.list('suppliers')).total).toBe(0);
  released.resolve();
  await Promise.all(pushes);
  expect(answered).toEqual(['g1', 'g2', 'm', 'o', 'g3', 'g4', 'g5']);
});
