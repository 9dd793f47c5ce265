// For `ops integrations`: the last pushes of all integrations, by a few queries over indexes, however many records there are.
import type { Store } from '@integration-sync/runtime/store';
import type { Entry } from './journal/journal-entry.ts';
import { collectionNames } from './names.ts';
import type { Watermark } from './watermarks.ts';

type Stored = Pick<Store, 'collection'>;

type LastRun = Pick<Entry, 'entityType' | 'created' | 'updated' | 'failed' | 'startedAt'> & {
  /** The client that pushed; null if the token of the push belongs to no client. */
  client: string | null;
};

/** The last pushes by integration. `listed` are the listings whose last writes the result contains. */
export async function readLastPushes(store: Stored, service: string, listed: readonly string[]) {
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
