// Listings as iterators: each follows the header `Link` from page to page, and shows no record twice.
import type { Call, Send } from './call.ts';
import { pollFeed, type FedEvent, type FeedPoll, type PollPage } from './feed.ts';
import type { Kind, ListedOf } from './kinds.ts';
import { queryOf, type Query } from './query.ts';
import type { SyncRun, SyncRunInFull } from './types.ts';
import { wait } from './waiting.ts';

export interface ListQuery {
  /** Lists only records that were synced after this time. */
  since?: string | undefined;
  /** Lists only records that changed after this time. Not allowed together with `since`. */
  changedSince?: string | undefined;
  until?: string | undefined;
  /** Lists only the records with these ids, at most 100. */
  externalId?: readonly string[] | undefined;
  /** Whether each entity has `details`: its fields, and when they changed. */
  details?: boolean | undefined;
  /** How many records a page has at most: 100 by default. */
  limit?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface Poll {
  /** The `next` of an earlier poll. If absent, the poll begins with all records. */
  changedSince?: string | undefined;
  details?: boolean | undefined;
  /** The pause between repeated listings of the changes, which never end. If absent, the changes are listed once. */
  everyMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface RunQuery {
  since?: string | undefined;
  entityType?: SyncRun['entityType'] | undefined;
  /** Lists only pushes with at least one failed item. */
  failed?: true | undefined;
  signal?: AbortSignal | undefined;
}

export interface Page<Entity> {
  entities: Entity[];
  total: number;
  /** The `since` or `changedSince` of the next poll. */
  nextSince: string | undefined;
  isLast: boolean;
}

export async function* pagesOf<Entity>(
  send: Send,
  path: string,
  query: Query,
  signal: AbortSignal | undefined,
): AsyncGenerator<Page<Entity>, void, undefined> {
  // A query without ids would have no filter: the service would list all records.
  if ([query['externalId'] ?? ['']].flat().length === 0) return;
  let next: string | undefined = path + queryOf({ limit: 100, ...query });
  while (next !== undefined) {
    const call: Call = { method: 'GET', path: next, signal };
    const { headers, body } = await send<{ entities: Entity[]; total: number }>(call);
    next = nextOf(headers);
    yield {
      entities: body.entities,
      total: body.total,
      nextSince: headers.get('x-next-since') ?? undefined,
      isLast: next === undefined,
    };
  }
}

async function* entitiesOf<Entity>(
  ...of: Parameters<typeof pagesOf>
): AsyncGenerator<Entity, void, undefined> {
  for await (const { entities } of pagesOf<Entity>(...of)) yield* entities;
}

export interface RecordListing {
  list<K extends Kind>(kind: K, query?: ListQuery): AsyncGenerator<ListedOf<K>, void, undefined>;
  /** The records page by page, with `total`, and with the time at which the next poll begins. */
  pages<K extends Kind>(kind: K, query?: ListQuery): AsyncGenerator<Page<ListedOf<K>>, void, undefined>;
}

export interface Listing extends RecordListing {
  /** The records that changed since an earlier poll, each once, with its present content. */
  poll<K extends Kind>(kind: K, how?: Poll): AsyncGenerator<PollPage<ListedOf<K>>, void, undefined>;
  /** The events of the feed, in order. */
  poll(feed: 'events', how?: FeedPoll): AsyncGenerator<PollPage<FedEvent>, void, undefined>;
  runs(query?: RunQuery): AsyncGenerator<SyncRun, void, undefined>;
  run(syncId: string, signal?: AbortSignal): Promise<SyncRunInFull>;
}

export const openRecordListing = (send: Send): RecordListing => ({
  pages: (kind, { signal, ...query } = {}) => pagesOf(send, kind, query, signal),
  list: (kind, { signal, ...query } = {}) => entitiesOf(send, kind, query, signal),
});

export function openListing(send: Send): Listing {
  const records = openRecordListing(send);

  async function* pollRecords<K extends Kind>(
    kind: K,
    { changedSince, details = true, everyMs, signal }: Poll,
  ) {
    let from = changedSince;
    for (;;) {
      let reached: string | undefined;
      for await (const page of records.pages(kind, { changedSince: from, details, signal })) {
        // The next poll begins at the `nextSince` of the first page: the pages of this poll show every change up to that time.
        reached ??= page.nextSince;
        yield { entities: page.entities, next: page.isLast ? reached : undefined };
      }
      if (everyMs === undefined) return;
      from = reached;
      await wait(everyMs, signal);
    }
  }

  function poll<K extends Kind>(kind: K, how?: Poll): AsyncGenerator<PollPage<ListedOf<K>>, void, undefined>;
  function poll(feed: 'events', how?: FeedPoll): AsyncGenerator<PollPage<FedEvent>, void, undefined>;
  function poll(
    of: Kind | 'events',
    how: Poll & FeedPoll = {},
  ): AsyncGenerator<PollPage<unknown>, void, undefined> {
    return of === 'events' ? pollFeed(send, how) : pollRecords(of, how);
  }

  return {
    ...records,
    poll,
    runs: ({ signal, ...query } = {}) => entitiesOf(send, 'sync-runs', query, signal),
    async run(syncId, signal) {
      const call = { method: 'GET', path: `sync-runs/${encodeURIComponent(syncId)}`, signal };
      return (await send<SyncRunInFull>(call)).body;
    },
  };
}

/** The path of the next page, without the base path. */
function nextOf(headers: Headers): string | undefined {
  const [, link] = /<([^<>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '') ?? [];
  return link === undefined ? undefined : link.replace(/^.*?\/api\/v1\/integration\//, '');
}
