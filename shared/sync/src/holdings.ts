// For operators' commands: the documents that a service stores for one integration, in the order of their removal, whether the
// integration still pushes, and the last pushes of all integrations.
import { documentHolding, type Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import type { Entry } from './journal/journal-entry.ts';
import { watchMs } from './journal/journal-times.ts';
import { readLastPushes } from './last-pushes.ts';
import { collectionNames } from './names.ts';

type Stored = Pick<Store, 'collection'>;

/** How long after the start of a push all its database operations have arrived or failed, even if its process died. */
const quietMs = watchMs + 30_000;

/** `listed` are the service's collections of records and of drafts. */
export function openOperating(service: string, listed: readonly string[]) {
  const names = collectionNames(service);
  return {
    lastPushes: (store: Stored) => readLastPushes(store, service, listed),
    /** The journal is removed first: without an entry, no replica announces a push any more. */
    holdings(store: Stored, integration: string): Holding[] {
      const hidden = { due: { $gt: new Date(0) }, hiddenFrom: integration };
      return [
        documentHolding(store, names.journal, { $or: [{ integration }, hidden] }),
        ...listed.map((collection) => documentHolding(store, collection, { integration })),
        // The key of a watermark begins with the integration, which holds no special character of regular expressions.
        documentHolding(store, names.watermarks, { _id: new RegExp(`^${integration}/`) }),
      ];
    },
    /** A push of the integration that may still write or announce; undefined if there is none. */
    async stillPushing(store: Stored, integration: string, now: Date) {
      const journal = store.collection<Entry>(names.journal);
      // A push with a hidden entry (journal.ts) counts as unfinished too, because its writes may still arrive.
      const unfinished = await journal.findOne(
        { due: { $gt: new Date(0) }, $or: [{ integration }, { hiddenFrom: integration }] },
        { hint: 'left-behind' },
      );
      // Sync ids sort by time. A hidden entry lacks the field `integration` and is not found here.
      const [newest] = await journal.find({ integration }).sort({ _id: -1 }).limit(1).toArray();
      const last = newest ?? unfinished;
      if (last === null) return undefined;
      const quietAt = new Date(last.startedAt.getTime() + quietMs);
      if (quietAt <= now && unfinished === null) return undefined;
      const { _id: syncId, startedAt } = unfinished ?? last;
      return {
        /** The sync id of an unfinished push of the integration, or else of its newest push. */
        syncId,
        startedAt,
        /** From this time on, the begun pushes of the integration neither write nor announce. */
        quietAt: new Date(Math.max(quietAt.getTime(), unfinished?.due?.getTime() ?? 0)),
      };
    },
  };
}
