import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { Endpoint } from '../../../services/webhooks/src/endpoint.ts';
import type { HeldEntry } from '../../../services/webhooks/src/held.ts';
import { openKeepers } from '../../../services/webhooks/src/keepers.ts';
import { openLanes } from '../../../services/webhooks/src/lanes.ts';
import { openTurns } from '../../../services/webhooks/src/turns.ts';
import { deliveryFor, openEndpoint } from '../../support/webhook-parts.ts';

// Setup: a keeper has died. While this replica takes its endpoint over, something is held for that endpoint here,
// which finds it taken over already.
// What this proves: it has one keeper here and not two, and what is held is delivered once.
it('keeps an endpoint once, however it came to be kept here', async () => {
  const endpoint: Endpoint = { ...openEndpoint('wh_1'), keeper: 'here' };
  const entry: HeldEntry = { sequence: 7, delivery: deliveryFor(endpoint._id) };
  const kept = new Map([[entry.sequence, entry]]);
  const takenOver = Promise.withResolvers<boolean>();
  let deliveries = 0;
  const key = { text: null, bytes: null } as never;
  using lanes = openLanes({ inFlightMax: 16 });
  const keepers = openKeepers({
    endpoints: {
      findAll: async () => [endpoint],
      claim: async () => endpoint,
      takeOver: () => takenOver.promise,
      letGo: async () => undefined,
      orphans: async () => [{ _id: endpoint._id, keeper: 'dead' }],
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
    directory: { prepare: (of) => ({ endpoint: of, open: true, key, previousKey: undefined }) },
    lanes,
    async deliver() {
      deliveries += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'settled';
    },
    roll: { replica: 'here', alive: () => ['here'] },
    inTurn: openTurns({ max: 4 }),
    log: openLog({ service: 'test', level: 'silent' }),
  });
  const sweeping = keepers.sweep();
  await keepers.ensure(endpoint._id);
  takenOver.resolve(true);
  await sweeping;
  await new Promise((resolve) => setTimeout(resolve, 100));
  await keepers.close();
  expect(deliveries).toBe(1);
});
