// Which of its two ways (messages.ts) an integration's deliveries take. By the shared one come a few of each, so that an
// integration that has none waiting is behind a few of each of the others, however much these have; the rest has a way
// of its own, on which it waits for none but itself. nats-server counts what is on which, for all replicas alike.
import { openBatcher } from '@integration-sync/runtime/batcher';
import type { Bus } from '@integration-sync/runtime/bus';
import { deliveriesStream } from './streams.ts';
import { deliveriesNoun, readDeliveriesSubject, type Way } from './subjects.ts';

/** Parcels that are not settled, by integration. */
export type Unsettled = Readonly<Record<Way, ReadonlyMap<string, number>>>;

/** Asks for all at once, and once for all callers that ask meanwhile. */
export function openCounting(bus: Pick<Bus, 'countBySubject'>): () => Promise<Unsettled> {
  const ask = openBatcher<undefined, Unsettled>(async (all) => {
    const counts = await bus.countBySubject(deliveriesStream, `${deliveriesNoun}.>`);
    const unsettled = { shared: new Map<string, number>(), backlog: new Map<string, number>() };
    for (const [subject, count] of counts) {
      const { integration, way } = readDeliveriesSubject(subject);
      // It may have some under the number of partitions that was in force before.
      unsettled[way].set(integration, (unsettled[way].get(integration) ?? 0) + count);
    }
    return all.map(() => unsettled);
  }, Infinity);
  return () => ask(undefined);
}

/** Parcels of one integration on the shared way, and of all together, where few of them share it. */
const parcelsMax = 8;
const parcelsOfAll = 32;
const deliveriesPerParcel = 64;

export function wayOf(integration: string, deliveries: number, { shared, backlog }: Unsettled): Way {
  // What is there already goes first.
  if ((backlog.get(integration) ?? 0) > 0) return 'backlog';
  const own = shared.get(integration) ?? 0;
  const sharing = own > 0 ? shared.size : shared.size + 1;
  const max = Math.max(1, Math.min(parcelsMax, Math.floor(parcelsOfAll / sharing)));
  return own < max && deliveries <= max * deliveriesPerParcel ? 'shared' : 'backlog';
}
