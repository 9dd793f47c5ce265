// Answers a page of a listing in creation order: of records or of drafts.
import { limits, type Listing } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import { LRUCache } from 'lru-cache';
import type { Engine, KindEngine } from '../engine.ts';
import { syncIdsFrom } from '../ids.ts';
import { isNoneOpen, completeUntil, watermarkKey, type Watermark, type Watermarks } from '../watermarks.ts';
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

/** Bytes of the NATS message that are kept for everything but the entities. */
const besidesBytes = 64 * 1024;

const bytesMaxOf = ({ bus }: Engine): number =>
  Math.min(limits.detailsBytesMax, bus.maxPayloadBytes - besidesBytes);

// Cuts a page to `limit` entities and to the bytes that an answer may have.

/**
 * `found` has one document more than `limit` if there is a next page, and is read only as far as needed. Resolves with each
 * entity as JSON, and with the last document if there is a next page. An entity larger than `bytesMax` is alone on its page.
 */
async function takePage<Document>(
  found: AsyncIterable<Document> | Iterable<Document>,
  { limit, bytesMax }: { limit: number; bytesMax: number },
  entityOf: (document: Document) => unknown,
): Promise<{ entities: string[]; last: Document | undefined }> {
  const entities: string[] = [];
  let bytes = 0;
  let last: Document | undefined;
  for await (const document of found) {
    const entity = entities.length < limit ? JSON.stringify(entityOf(document)) : '';
    bytes += Buffer.byteLength(entity);
    if (entities.length > 0 && (entities.length === limit || bytes > bytesMax)) return { entities, last };
    entities.push(entity);
    last = document;
  }
  return { entities, last: undefined };
}

// A listing into which no push writes saves a round trip. A page is normally read after the watermark, which says until when
// all records can be seen. If two pages in a row had the same watermark, the next page is read in parallel with the watermark:
//
//   the last two watermarks            the page
//   ─────────────────────────────────  ────────────────────────────────────────────────────────────────────────
//   differ, or a push was open in one  is read after the watermark
//   are the same                       is read in parallel, and once more if the watermark has changed
//
// A watermark stays true for all later reads. Each push changes the watermark before it writes, so an unchanged
// watermark includes each push that was answered before the page was asked for.

/** Reads a page with the watermark of its listing, as of some moment after the call. */
type ReadWithWatermark = <Page>(
  key: string,
  pageOf: (watermark: Watermark) => Promise<Page>,
) => Promise<Page>;

interface Remembered {
  watermark: Watermark;
  /** Whether the previous read found the same watermark. */
  isQuiet: boolean;
}

/** Beyond this number, the least recently read watermarks are forgotten. */
const rememberedMax = 10_000;

export function openQuietListings({ read }: Pick<Watermarks, 'read'>): ReadWithWatermark {
  const remembered = new LRUCache<string, Remembered>({ max: rememberedMax });

  const readNow = async (key: string): Promise<Watermark> => {
    const watermark = await read(key);
    const before = remembered.get(key);
    const isQuiet = before !== undefined && isUnchanged(before.watermark, watermark);
    remembered.set(key, { watermark, isQuiet });
    return watermark;
  };

  return async (key, pageOf) => {
    const last = remembered.get(key);
    if (last?.isQuiet !== true) return pageOf(await readNow(key));
    const [watermark, page] = await Promise.all([readNow(key), pageOf(last.watermark)]);
    return isUnchanged(last.watermark, watermark) ? page : pageOf(watermark);
  };
}

const isUnchanged = (before: Watermark, now: Watermark): boolean =>
  before.stamp === now.stamp && before.total === now.total && isNoneOpen(before) && isNoneOpen(now);
