import { openLog } from '@integration-sync/runtime/log';
import { describe, expect, it, vi } from 'vitest';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import type { HeldEntry } from '../../../services/webhooks/src/retrying/held.ts';
import {
  openOwners,
  type Owners,
  type OwnersOptions,
} from '../../../services/webhooks/src/retrying/owners.ts';
import { openLanes } from '../../../services/webhooks/src/delivering/lanes.ts';
import { openLimiter } from '../../../services/webhooks/src/tools/limiter.ts';
import { eventually } from '../../support/eventually.ts';
import { deliveryFor, openEndpoint } from '../../support/webhook-parts.ts';
import { pause } from '../../support/pause.ts';

/** One delivery is held for an endpoint that `keeper` owns by the database. */
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
  const options: OwnersOptions = {
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
    cache: {
      prepare: (of) => ({ endpoint: of, open: of.open, key, previousKeys: [] }),
      remembered: () => undefined,
    },
    lanes,
    async deliver() {
      deliveries += 1;
      await pause(20);
      return 'settled';
    },
    replicas: { self: 'here', alive: () => ['here'] },
    tellChanged: (id) => void told.push(id),
    limit: openLimiter({ max: 4 }),
    log: openLog({ service: 'test', level: 'silent' }),
  };
  return {
    options,
    kept,
    inDatabase,
    told,
    deliveries: () => deliveries,
    [Symbol.dispose]: () => lanes[Symbol.dispose](),
  };
}

// Setup: an owner has died. While this replica takes its endpoint over, it also sets a delivery aside for
// that endpoint, and finds it already taken over.
// What this proves: it has one owner here and not two, and what is held is delivered once.
it('owns an endpoint once, however it came to be owned here', async () => {
  using set = setUp('dead');
  const answered = Promise.withResolvers<void>();
  const { takeOver } = set.options.endpoints;
  set.options.endpoints.takeOver = async (...how) => {
    const taken = await takeOver(...how);
    await answered.promise;
    return taken;
  };
  const owners = openOwners(set.options);
  const sweeping = owners.sweep();
  await pause(5);
  await owners.ensure('wh_1');
  answered.resolve();
  await sweeping;
  await eventually(set.deliveries, (count) => count === 1);
  await pause(100);
  await owners.close();
  expect(set.deliveries()).toBe(1);
});

it('tells the replica that kept it that it is kept here now', async () => {
  using set = setUp('asleep');
  const owners = openOwners(set.options);
  await owners.sweep();
  expect(set.told).toEqual(['wh_1']);
  await owners.close();
});

it.each([
  ['a dead one kept', 'takeOver', 'dead', (owners: Owners) => owners.sweep()],
  ['no replica kept', 'claim', undefined, (owners: Owners) => owners.ensure('wh_1')],
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
  const owners = openOwners(set.options);
  await expect(take(owners)).rejects.toThrow('lost');
  expect(set.inDatabase.keeper).toBe('here');
  expect(owners.count).toBe(0);
  await owners.sweep();
  await eventually(set.deliveries, (count) => count === 1);
  await pause(50);
  await owners.close();
  expect(set.deliveries()).toBe(1);
});

describe('waits for an event no longer than its own delay,', () => {
  it.each([
    ['of an endpoint that fails', false],
    ['of an endpoint that is well again', true],
  ])('%s, though the clock is set back meanwhile', async (_whose, open) => {
    using set = setUp('here');
    const entry = set.kept.get(7);
    if (entry === undefined) throw new Error('nothing is held');
    Object.assign(entry.delivery, { attempts: 1, dueAtMs: Date.now() + 1_000 });
    set.options.endpoints.findAll = async () => [{ ...openEndpoint('wh_1'), open, keeper: 'here' }];
    const deliveredAt = Promise.withResolvers<number>();
    set.options.deliver = async () => {
      deliveredAt.resolve(performance.now());
      return 'settled';
    };
    const beganAt = performance.now();
    const owners = openOwners(set.options);
    await owners.ensure('wh_1');
    await pause(200);
    const now = Date.now;
    using _clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 40_000);
    owners.wake('wh_1');
    const waitedMs = (await deliveredAt.promise) - beganAt;
    await owners.close();
    expect(waitedMs).toBeGreaterThan(950);
    expect(waitedMs).toBeLessThan(4_000);
  });
});

it('removes what was held for an endpoint that was deleted before', async () => {
  using set = setUp('gone');
  set.options.endpoints.claim = async () => null;
  set.options.endpoints.findAll = async () => [];
  const owners = openOwners(set.options);
  await owners.ensure('wh_1');
  expect(set.kept.size).toBe(0);
  await owners.close();
});

it('leaves alone what is held for an endpoint that another replica owns', async () => {
  using set = setUp('there');
  const owners = openOwners(set.options);
  await owners.ensure('wh_1');
  expect(set.kept.size).toBe(1);
  await owners.close();
});
