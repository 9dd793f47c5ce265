// Answers a page of a listing in creation order: of records or of drafts.
import type { Listing } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import type { Engine, KindEngine } from '../engine.ts';
import { syncIdsFrom } from '../ids.ts';
import { isNoneOpen, completeUntil, watermarkKey, type Watermark } from '../watermarks.ts';
import { openFindPage, type Projection } from './find-page.ts';
import {
  linkToNext,
  readPageAsked,
  refuseCursorOfRemoved,
  skipOf,
  type CursorSeal,
  type PageAsked,
} from './listing-request.ts';
import type { ListedDocument, Narrowing, NarrowingRule, TimeAsked } from './listing-filters.ts';
import { openQuietListings } from './quiet-listings.ts';
import { bytesMaxOf, takePage } from './take-page.ts';

/** How a document is shown: the fields to read, and the entity that is made from them. */
interface Showing<Document> {
  fields: readonly string[];
  entityOf(document: Document): unknown;
}

export interface ListingRule<Document extends ListedDocument> extends Showing<Document> {
  /** The name of the collection, and the same text at the end of the path. */
  name: string;
  narrowing: NarrowingRule;
  /** How a listing of records shows whole records (`details`); other listings cannot. */
  whole?: Showing<Document> & { of: KindEngine };
}

export function openListing<Document extends ListedDocument>(
  { store, engine, cursorKey }: { store: Store; engine: Engine; cursorKey: Uint8Array },
  rule: ListingRule<Document>,
): BusHandler {
  const findPage = openFindPage(store.collection<ListedDocument>(rule.name));
  const { watermarks } = engine;
  const readWithWatermark = openQuietListings(watermarks);
  const of = rule.whole?.of;
  const byName = { showing: rule, projection: projectionOf(rule) };
  const inFull = rule.whole && { showing: rule.whole, projection: projectionOf(rule.whole) };
  return async (request) => {
    const { integration } = request;
    const listing = watermarkKey(integration, rule.name);
    const seal: CursorSeal = { key: cursorKey, listing };
    const asked = readPageAsked(request, seal, rule.narrowing.read(integration));
    const narrowing = rule.narrowing.narrowingOf(asked.filters);
    const { showing, projection } = (narrowing.details === true && inFull) || byName;
    const { walk, found, total, isCounted, stamp } = await readWithWatermark(listing, async (watermark) => {
      const begun = beginWalk(asked, watermark, narrowing, engine.now());
      // The index is checked after the watermark was read: until then a replica of an earlier release may store a record
      // without `changedAt`, which the index of `changedAt` lacks.
      const time = await timeAsked(narrowing, of, integration);
      const query = {
        integration,
        asked: begun,
        watermark,
        readAgain: () => watermarks.read(listing),
        narrowing,
        projection,
        time,
        now: engine.now(),
        createdAfter:
          of && ((syncId: string) => engine.journal.createdAfter(syncId, { integration, ...of.kind })),
      };
      const page = await findPage<Document>(query);
      return { walk: begun, stamp: watermark.stamp, ...page };
    });
    refuseCursorOfRemoved(asked, stamp);
    const bounds = { limit: asked.limit, bytesMax: bytesMaxOf(engine) };
    const { entities, last } = await takePage(found, bounds, (document) => showing.entityOf(document));
    const shown = (asked.after === undefined ? skipOf(asked) : asked.shown) + entities.length;
    const answer: Omit<Listing<unknown>, 'entities'> = {
      // The walk may show more than `total`: records of an open push, and records that began to match during the walk.
      total: entities.length === 0 ? total : Math.max(total, shown),
      page: asked.page,
      limit: asked.limit,
    };
    const counts = { total: isCounted ? answer.total : undefined, shown };
    return {
      headers: {
        'x-next-since': walk.nextSince.toISOString(),
        ...(last === undefined
          ? {}
          : { link: linkToNext(rule.name, seal, { ...walk, ...counts }, last.order) }),
      },
      body: `{"entities":[${entities.join()}],${JSON.stringify(answer).slice(1)}`,
      logFields: { entities: entities.length, total: answer.total },
    };
  };
}

const projectionOf = ({ fields }: Pick<Showing<never>, 'fields'>): Projection =>
  Object.fromEntries(['order', ...fields].map((field) => [field, 1]));

/** Fixes the end and the `X-Next-Since` of a listing on its first page. */
function beginWalk(
  asked: PageAsked,
  watermark: Watermark,
  narrowing: Narrowing,
  now: number,
): PageAsked & { nextSince: Date } {
  const { since, after, until, nextSince = nextSinceOf(watermark, narrowing) } = asked;
  if (after !== undefined || (since ?? narrowing.changedSince ?? narrowing.until) === undefined)
    return { ...asked, until, nextSince };
  // A listing by times ends before the records that are created after its first page: the next poll shows them anyway. A sync id
  // begins with the start of its push, which is never later than the push's stamp. So every record with a stamp up to `nextSince`
  // is before the end, whatever the replicas' clocks say.
  const { stamp } = watermark;
  const endMs = (isNoneOpen(watermark) ? stamp : Math.max(now, stamp)) + 1;
  return { ...asked, until: syncIdsFrom(new Date(endMs)), nextSince };
}

async function timeAsked(
  { changedSince, ids }: Narrowing,
  of: KindEngine | undefined,
  integration: string,
): Promise<TimeAsked> {
  if (changedSince === undefined) return 'synced';
  // A listing by ids does not use the index of `changedAt`, so that index may be incomplete.
  const isIndexed = ids === undefined && (await of?.changeTimes.areComplete(integration));
  return isIndexed === true ? 'changed' : 'changed-or-synced';
}

/** `X-Next-Since`: the next poll begins at `until`, or earlier if records up to `until` may still appear. */
function nextSinceOf(watermark: Watermark, { until }: Narrowing): Date {
  const complete = completeUntil(watermark);
  if (until === undefined || until > complete) return complete;
  // With an offset such as +01:00, `until` may be before the year 0, which an ISO time cannot express.
  return until < earliest ? earliest : until;
}

const earliest = new Date('0000-01-01T00:00:00.000Z');
