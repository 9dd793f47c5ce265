// One page of a listing, for every kind of thing that is listed in creation order.
import type { BusHandler } from '@integration-sync/runtime/bus';
import { limits, requestHeaders, type Listing } from '@integration-sync/contracts';
import type { Collection, Filter, NamedIndex, Store } from '@integration-sync/runtime/store';
import type { Engine } from './engine.ts';
import { headKey, settledUntil, type Head } from './heads.ts';
import { syncIdsFrom } from './ids.ts';
import { closeForgotten } from './ledger.ts';
import { choosePlan, linkToNext, readPageAsked, type CursorSeal, type PageAsked } from './paging.ts';

/** What every listed document has. */
export interface ListedDocument {
  _id: string;
  integration: string;
  order: string;
  lastSyncedAt: Date;
}

export interface ListingRule<Document extends ListedDocument> {
  /** The collection, and the last part of the path. */
  name: string;
  /** The fields of the document that the entity is made of. */
  fields: readonly string[];
  entityOf(document: Document): unknown;
}

export interface ListingOptions {
  store: Store;
  engine: Engine;
  cursorKey: Uint8Array;
}

export const listingIndexes: readonly NamedIndex[] = [
  { name: 'creation-order', key: { integration: 1, order: 1 } },
  { name: 'last-synced', key: { integration: 1, lastSyncedAt: 1 } },
];

export function openListing<Document extends ListedDocument>(
  { store, engine, cursorKey }: ListingOptions,
  rule: ListingRule<Document>,
): BusHandler {
  const documents = store.collection<ListedDocument>(rule.name);
  const projection = Object.fromEntries(['order', ...rule.fields].map((field) => [field, 1]));

  return async (request) => {
    const { integration } = request;
    const listing = headKey(integration, rule.name);
    const seal: CursorSeal = { key: cursorKey, listing };
    const query = new URLSearchParams(request.headers.get(requestHeaders.query) ?? '');
    const asked = readPageAsked(query, seal);
    // Read before the page: what this says of the past holds for everything that is read after it.
    const head = await engine.heads.read(listing);
    closeForgotten(engine, head).catch((error: unknown) =>
      request.log.warn({ err: error }, 'a listing stays open'),
    );
    const walk = beginWalk(asked, head, engine.now());
    const { found, total } = await findPage<Document>(documents, integration, walk, head, projection);
    const entities = found.slice(0, asked.limit);
    const last = found.length > asked.limit ? entities.at(-1) : undefined;
    const answer: Listing<unknown> = {
      entities: entities.map((document) => rule.entityOf(document)),
      total,
      page: asked.page,
      limit: asked.limit,
    };
    return {
      headers: {
        'x-next-since': walk.nextSince.toISOString(),
        ...(last === undefined ? {} : { link: linkToNext(rule.name, seal, walk, last.order) }),
      },
      body: JSON.stringify(answer),
      logFields: { entities: entities.length, total },
    };
  };
}

/** What a walk keeps from its first page to its last. */
function beginWalk(asked: PageAsked, head: Head, now: number): PageAsked & { nextSince: Date } {
  const { since, after, until, nextSince = settledUntil(head) } = asked;
  if (after !== undefined || since === undefined) return { ...asked, until, nextSince };
  // A poll that also showed what is created while it goes on would show it again the next time. Whatever was
  // synchronised by `nextSince` was begun by then, on whichever clock; the next poll shows what was not.
  return { ...asked, until: syncIdsFrom(new Date(Math.max(now, nextSince.getTime()) + 1)), nextSince };
}

interface FoundPage<Document> {
  /** One more than fits on the page, where there is more. */
  found: Document[];
  total: number;
}

async function findPage<Document extends ListedDocument>(
  documents: Collection<ListedDocument>,
  integration: string,
  asked: PageAsked,
  head: Head,
  projection: Record<string, number>,
): Promise<FoundPage<Document>> {
  const { page, limit, since, after } = asked;
  const skip = after === undefined ? (page - 1) * limit : 0;
  const wanted = limit + 1;
  const matching = since === undefined ? undefined : { integration, lastSyncedAt: { $gt: since } };
  const counted =
    matching === undefined ? head.total : await documents.countDocuments(matching, { hint: 'last-synced' });
  if (skip > counted + uncountedMax(head)) return { found: [], total: counted };

  const plan = matching === undefined ? 'in-order' : choosePlan(counted, head.total, skip + wanted);
  const found = await documents
    .find<Document>(
      { ...(matching ?? { integration }), ...orderWithin(asked) },
      { projection, batchSize: wanted, singleBatch: true },
    )
    .hint(plan === 'in-order' ? 'creation-order' : 'last-synced')
    .sort({ integration: 1, order: 1 })
    .skip(skip)
    .limit(wanted)
    .toArray();
  // A push that is under way, or was cut off, has records that are not counted yet.
  return { found, total: Math.max(counted, skip + Math.min(found.length, limit)) };
}

/** A numbered page shows what is there. */
function orderWithin({ after, until }: PageAsked): Filter<ListedDocument> {
  if (after === undefined) return {};
  return { order: { $gt: after, ...(until === undefined ? {} : { $lt: until }) } };
}

const uncountedMax = ({ open }: Head): number => Object.keys(open).length * limits.itemsPerPushMax;
