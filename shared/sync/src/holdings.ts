// The documents that a service stores for one integration, in the order in which an operator removes them (`ops purge`), and
// whether the integration still pushes.
import { documentHolding, type Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import type { Entry } from './journal/journal-entry.ts';
import { watchMs } from './journal/journal-times.ts';
import { collectionNames } from './names.ts';

type Stored = Pick<Store, 'collection'>;

/** `listed` are the collections of the records and statements of the service. */
export const openOperating = (service: string, listed: readonly string[]) => ({
  holdings: (store: Stored, integration: string): Holding[] =>
    holdingsOf(store, service, listed, integration),
  /** Undefined where no push of the integration can write or announce anything any more. */
  stillPushing: (store: Stored, integration: string, now: Date): Promise<Pushing | undefined> =>
    stillPushing(store, service, integration, now),
});

/** In the order of their removal: first the journal, without which no replica announces anything of it any more. */
function holdingsOf(
  store: Stored,
  service: string,
  listed: readonly string[],
  integration: string,
): Holding[] {
  const names = collectionNames(service);
  const hidden = { due: { $gt: new Date(0) }, hiddenFrom: integration };
  return [
    documentHolding(store, names.journal, { $or: [{ integration }, hidden] }),
    ...listed.map((collection) => documentHolding(store, collection, { integration })),
    // The key of a watermark begins with the integration, which holds no character that means something here.
    documentHolding(store, names.watermarks, { _id: new RegExp(`^${integration}/`) }),
  ];
}

/** By then nothing of a push is on its way any more, wherever its process died or stood still. */
const quietMs = watchMs + 30_000;

interface Pushing {
  /** The last push that began. */
  syncId: string;
  startedAt: Date;
  /** When it will have come to its end, if no other one begins. */
  quietAt: Date;
}

async function stillPushing(
  store: Stored,
  service: string,
  integration: string,
  now: Date,
): Promise<Pushing | undefined> {
  const journal = store.collection<Entry>(collectionNames(service).journal);
  // Ids of pushes sort by their time.
  const [last] = await journal.find({ integration }).sort({ _id: -1 }).limit(1).toArray();
  if (last === undefined) return undefined;
  const quietAt = new Date(last.startedAt.getTime() + quietMs);
  const unfinished = await journal.findOne(
    { due: { $gt: new Date(0) }, integration },
    { hint: 'left-behind' },
  );
  if (quietAt <= now && unfinished === null) return undefined;
  const { _id: syncId, startedAt } = unfinished ?? last;
  return {
    syncId,
    startedAt,
    quietAt: new Date(Math.max(quietAt.getTime(), unfinished?.due?.getTime() ?? 0)),
  };
}
