import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { Endpoint } from '../../../services/webhooks/src/endpoint.ts';
import type { HeldEntry } from '../../../services/webhooks/src/held.ts';
import { openKeepers, type Keepers, type KeepersOptions } from '../../../services/webhooks/src/keepers.ts';
import { openLanes } from '../../../services/webhooks/src/lanes.ts';
import { openTurns } from '../../../services/webhooks/src/turns.ts';
import { deliveryFor, openEndpoint } from '../../support/webhook-parts.ts';

/** One delivery is held for an endpoint that `keeper` keeps, as far as the database knows. */
function setUp(keeper: string) {
  const entry: HeldEntry = { sequence: 7, delivery: deliveryFor('wh_1') };
  const kept = new Map([[entry.sequence, entry]]);
  const inDatabase: { keeper: string | undefined } = { keeper };
  const told: string[] = [];
  const endpoint = (): Endpoint => ({
    ...openEndpoint('wh_1'),
    ...(inDatabase.keeper === undefined ? {} : { keeper: inDatabase.keeper }),
  });
  let deliveries = 0;
  const key = { text: null, bytes: null } as never;
  const lanes = openLanes({ inFlightMax: 16 });
  const options: KeepersOptions = {
    endpoints: {
      findAll: async () => [endpoint()],
      async claim(_id, replica) {
        inDatabase.keeper ??= replica;
        return inDatabase.keeper === replica ? endpoint() : null;
      },
      async takeOver(_id, from, replica) {
        if (inDatabase.keeper !== from) return false;
        inDatabase.keeper = replica;
        return true;
      },
      async letGo() {
        inDatabase.keeper = undefined;
      },
      orphans: async (alive) =>
        inDatabase.keeper === undefined || alive.includes(inDatabase.keeper)
          ? []
          : [{ _id: 'wh_1', keeper: inDatabase.keeper }],
    },
    held: {
      put: async () => 0,
      putAll: async () => undefined,
      first: async () => [...kept.values()][0],
      at: async (_id, _epoch, sequence) => kept.get(sequence),
      read: async (_id, _epoch, from) => [...kept.values()].filter(({ sequence }) => sequence >= from),
      count: async () => kept.size,
      readAll: async function* () {},
      remove: async (sequence) => void kept.delete(sequence),
      removeThrough: async () => kept.clear(),
      removeEndpoint: async () => kept.clear(),
    },
    directory: { prepare: (of) => ({ endpoint: of, open: true, key, previousKeys: [] }) },
    lanes,
    async deliver() {
      deliveries += 1;
      await aWhile(20);
      return 'settled';
    },
    roll: { replica: 'here', alive: () => ['here'] },
    tellChanged: (id) => void told.push(id),
    inTurn: openTurns({ max: 4 }),
    log: openLog({ service: 'test', level: 'silent' }),
  };
  return {
    options,
    inDatabase,
    told,
    deliveries: () => deliveries,
    [Symbol.dispose]: () => lanes[Symbol.dispose](),
  };
}

const aWhile = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// Setup: a keeper has died. While this replica takes its endpoint over, something is held for that endpoint here,
// which finds it taken over already.
// What this proves: it has one keeper here and not two, and what is held is delivered once.
it('keeps an endpoint once, however it came to be kept here', async () => {
  using set = setUp('dead');
  const answered = Promise.withResolvers<void>();
  const { takeOver } = set.options.endpoints;
  set.options.endpoints.takeOver = async (...how) => {
    const taken = await takeOver(...how);
    await answered.promise;
    return taken;
  };
  const keepers = openKeepers(set.options);
  const sweeping = keepers.sweep();
  await aWhile(5);
  await keepers.ensure('wh_1');
  answered.resolve();
  await sweeping;
  await aWhile(100);
  await keepers.close();
  expect(set.deliveries()).toBe(1);
});

it('tells whoever kept it that it is kept here now', async () => {
  using set = setUp('asleep');
  const keepers = openKeepers(set.options);
  await keepers.sweep();
  expect(set.told).toEqual(['wh_1']);
  await keepers.close();
});

it.each([
  ['a dead one kept', 'takeOver', 'dead', (keepers: Keepers) => keepers.sweep()],
  ['nobody kept', 'claim', undefined, (keepers: Keepers) => keepers.ensure('wh_1')],
] as const)('keeps what %s, though the answer to that got lost', async (_what, step, before, take) => {
  using set = setUp('dead');
  set.inDatabase.keeper = before;
  const real = set.options.endpoints[step] as (...how: string[]) => Promise<unknown>;
  let lost = false;
  set.options.endpoints[step] = async (...how: string[]) => {
    const answer = await real(...how);
    if (lost) return answer as never;
    lost = true;
    throw new Error('the answer got lost');
  };
  const keepers = openKeepers(set.options);
  await expect(take(keepers)).rejects.toThrow('lost');
  expect(set.inDatabase.keeper).toBe('here');
  expect(keepers.count).toBe(0);
  await keepers.sweep();
  await aWhile(50);
  await keepers.close();
  expect(set.deliveries()).toBe(1);
});
