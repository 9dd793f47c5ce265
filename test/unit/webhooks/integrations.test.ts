import { partitionOf } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { openRetry } from '@integration-sync/runtime/retry';
import { expect, it } from 'vitest';
import {
  type ActiveIntegration,
  Integrations,
} from '../../../services/webhooks/src/delivering/owned-integrations.ts';
import { readBatch } from '../../../services/webhooks/src/log/logged-batch.ts';
import { Windows } from '../../../services/webhooks/src/log/window.ts';
import { OwnedPartitions } from '../../../services/webhooks/src/owning/ownership.ts';
import { batchOf, openEndpoint } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });

it('a replica at its limit of endpoints keeps the offsets of a partition that it has just taken', async () => {
  const active = new Map<string, ActiveIntegration>();
  const owned = new OwnedPartitions({ isHeard: true, gaps: 0 });
  for (const name of ['acme', 'other']) {
    const partition = partitionOf(name);
    owned.set(partition, { partition, term: 1, floor: 0, stream: 'one', through: 0 });
  }
  const read = { acme: Promise.withResolvers<void>(), other: Promise.withResolvers<void>() };
  const integrations = new Integrations({
    active,
    owned,
    revisions: {
      async of(names) {
        await (names.includes('acme') ? read.acme : read.other).promise;
        return names.map((name) => ({ _id: name, revision: 'one' }));
      },
    },
    endpoints: {
      subscribersOf: async (names) =>
        new Map(names.map((name) => [name, [openEndpoint(`wh_${name}`)]] as const)),
      findAll: async () => [],
      recordMissed: async () => undefined,
    },
    windows: new Windows({ bus: { async *readStream() {} }, read: (stored) => readBatch(stored, log) }),
    wake: () => undefined,
    isFollowed: () => false,
    onBehind: () => undefined,
    endpointsMax: 0,
    retry: openRetry(log, new AbortController().signal),
    log,
  });
  const taken = integrations.take([batchOf(1, 1, { integration: 'other', partition: partitionOf('other') })]);
  const offset = { sequence: 7, index: 1, open: [], epoch: 0 };
  const begun = integrations.begin(new Map([['acme', new Map([['wh_acme', offset]])]]));
  read.other.resolve();
  await taken;
  read.acme.resolve();
  await begun;
  expect(active.get('acme')?.queues.get('wh_acme')?.offset(0, 0)).toEqual(offset);
});
