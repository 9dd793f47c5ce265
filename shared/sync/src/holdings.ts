// For operators' commands: the documents that a service stores for one integration, in the order of their removal, whether the
// integration still pushes, and the last pushes of all integrations.
import { documentHolding, type Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import type { Entry } from './journal/journal-entry.ts';
import { watchMs } from './journal/journal-times.ts';
import { collectionNames } from './names.ts';
import type { Watermark } from './watermarks.ts';

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

// The last pushes of all integrations, by a few queries over indexes, however many records there are.

type LastRun = Pick<Entry, 'entityType' | 'created' | 'updated' | 'failed' | 'startedAt'> & {
  /** The client that pushed; null if the token of the push belongs to no client. */
  client: string | null;
};

/** The last pushes by integration. `listed` are the listings whose last writes the result contains. */
async function readLastPushes(store: Stored, service: string, listed: readonly string[]) {
  const names = collectionNames(service);
  const [heads, runs] = await Promise.all([
    store
      .collection<Watermark>(names.watermarks)
      .find({ stamp: { $gt: 0 } }, { projection: { stamp: 1 } })
      .toArray(),
    readLastRuns(store, names.journal),
  ]);
  const written = heads.flatMap(({ _id, stamp }) => {
    const [integration = '', listing = ''] = _id.split('/');
    return listed.includes(listing) ? [{ integration, listing, at: new Date(stamp) }] : [];
  });
  const byIntegration = Map.groupBy(written, ({ integration }) => integration);
  return new Map(
    [...new Set([...byIntegration.keys(), ...runs.keys()])].map((integration) => [
      integration,
      {
        /** By listing, such as `suppliers`: when a push last wrote to it. */
        writtenAt: new Map(byIntegration.get(integration)?.map(({ listing, at }) => [listing, at])),
        /** The newest push of the last 7 days in the journal of the service. */
        lastRun: runs.get(integration),
      },
    ]),
  );
}

/** MongoDB reads one entry of each integration: the group takes the first by the order of the index. */
async function readLastRuns(store: Stored, journal: string): Promise<Map<string, LastRun>> {
  const first = ['entityType', 'client', 'created', 'updated', 'failed', 'startedAt'].map((name) => [
    name,
    { $first: `$${name}` },
  ]);
  const found = await store
    .collection<Entry>(journal)
    .aggregate<LastRun & { _id: string }>(
      [
        { $match: { integration: { $gt: '' } } },
        { $sort: { integration: 1, _id: -1 } },
        { $group: { _id: '$integration', ...Object.fromEntries(first) } },
      ],
      { hint: 'history' },
    )
    .toArray();
  return new Map(found.map(({ _id, ...run }) => [_id, { ...run, client: run.client ?? null }]));
}
