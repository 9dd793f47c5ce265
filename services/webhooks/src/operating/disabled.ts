// Enables, for an operator, webhooks that were disabled because of an outage of the webhooks service. The command stores a
// recovery step with each endpoint; running replicas do the steps (api/recoveries.ts).
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Collection, Filter, Store } from '@integration-sync/runtime/store';
import type { Endpoint, Recovery } from '../endpoints/endpoint.ts';
import { endpointsCollection } from '../endpoints/endpoint-store.ts';

export type DisabledWebhook = Pick<Endpoint, '_id' | keyof typeof fields>;

const fields = { integration: 1, disabledAt: 1, failures: 1, epoch: 1, recover: 1, recovery: 1 } as const;

export type DisabledWebhooks = ReturnType<typeof openDisabledWebhooks>;

const writeLimits = { max: 16 };

export function openDisabledWebhooks(store: Pick<Store, 'collection'>) {
  const endpoints = store.collection<Endpoint>(endpointsCollection);
  return {
    /** Webhooks that failures have disabled, oldest first; not those that a caller or a 410 has disabled. */
    find: (since: Date, integration: string | undefined) =>
      endpoints
        .find({
          disabledAt: { $gte: since },
          disabledReason: 'failures',
          ...(integration === undefined ? {} : { integration }),
        })
        .project<DisabledWebhook>(fields)
        .sort({ disabledAt: 1, _id: 1 })
        .toArray(),
    /**
     * Stores a recovery step with each webhook that has not changed since it was found. Resolves with the number of these.
     * Webhooks with `recover` get their missed events in any case, as by a recovery of their own.
     */
    async enable(found: readonly DisabledWebhook[], replays: boolean): Promise<number> {
      const limit = openSemaphore(writeLimits).run;
      const counts = await Promise.all(found.map((one) => limit(() => noteOne(endpoints, one, replays))));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async countLeft(found: readonly DisabledWebhook[]): Promise<number> {
      const left: Filter<Endpoint> = { 'recovery.step': { $in: ['enable', 'send'] } };
      return endpoints.countDocuments({ $and: [left, { _id: { $in: found.map(({ _id }) => _id) } }] });
    },
  };
}

async function noteOne(
  endpoints: Collection<Endpoint>,
  { _id, epoch, disabledAt, recover = false, recovery: before }: DisabledWebhook,
  replays: boolean,
): Promise<number> {
  const since = before?.since ?? disabledAt ?? new Date();
  const recovery: Recovery = { step: 'enable', dueAt: new Date(), replays: replays || recover, since };
  const asFound: Filter<Endpoint> = { _id, epoch, active: false, disabledReason: 'failures' };
  return (await endpoints.updateOne(asFound, { $set: { recovery } })).matchedCount;
}
