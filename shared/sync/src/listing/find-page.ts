// Finds the documents of a page (its `page` and `total` in the answer: answer-page.ts). Each page of a walk (a listing from cursor to
// cursor) costs the same, however many records are stored or match: a replica remembers the number and the order of the matches for
// a while. Other replicas read both again.
//
//   remembered          for each                             used by
//   ──────────────────  ───────────────────────────────────  ────────────────────────────────────────────────────────────
//   how many match      a filter, as of a watermark          numbered pages; a cursor carries the number itself
//   where matches begin a filter, as of a watermark          the first page of a walk, which reads none of the records before
//   orders of matches   a walk                               all pages of a walk among few matches, which need no sorting then
//   end of a page       a numbered page, as of a watermark   the next numbered page, which skips nothing then
//
// The listed `order` values may lack matches later than the walk's X-Next-Since, but the next poll shows these. Two walks share
// a list only if both also have the same end: a push between their first pages may change the end, but not the X-Next-Since.
import { limits } from '@integration-sync/contracts';
import { allOfThem, type Collection, type Filter } from '@integration-sync/runtime/store';
import { syncIdsFrom } from '../ids.ts';
import { watchMs } from '../journal/journal-times.ts';
import { orderIndex, statusIndex } from '../names.ts';
import { isNoneOpen, type Watermark } from '../watermarks.ts';
import { openFairCache } from './fair-cache.ts';
import { skipOf, type PageAsked } from './listing-request.ts';
import {
  indexFor,
  matchingOf,
  type ListedDocument,
  type Narrowing,
  type SincePlan,
  type TimeAsked,
} from './listing-filters.ts';

export type Projection = Readonly<Record<string, 1>>;

export interface PageQuery {
  integration: string;
  /** The asked page. A page after a cursor has the end and the `X-Next-Since` of the first page. */
  asked: PageAsked & { nextSince: Date };
  watermark: Watermark;
  readAgain: () => Promise<Watermark>;
  narrowing: Narrowing;
  projection: Projection;
  time: TimeAsked;
  now: number;
  /** How many records the pushes after this sync id have created; undefined if counting takes too long. */
  createdAfter?: ((syncId: string) => Promise<number | undefined>) | undefined;
}

export interface PageFound<Document> {
  /** The documents of the page and, if there are more, at least one further document. */
  found: AsyncIterable<Document> | Iterable<Document>;
  /** How many documents match; for a page after a cursor, how many matched when its walk began. */
  total: number;
  /** Whether `total` was counted. Without filters it comes from the watermark, which has the number of all documents. */
  isCounted: boolean;
}

export function openFindPage(documents: Collection<ListedDocument>) {
  const countMatches = openCount(documents);
  const findBegin = openBegins(documents);
  const listOrders = openOrders(documents);
  const ends = openEnds();
  return async <Document extends ListedDocument>(query: PageQuery): Promise<PageFound<Document>> => {
    const { integration, asked, watermark, narrowing, projection, time } = query;
    const wanted = asked.limit + 1;
    const matching = matchingOf(integration, asked, narrowing, time);
    const isCounted = matching !== undefined;
    const total = isCounted ? await countMatches(query, matching) : watermark.total;
    const counted = { total, isCounted };
    // The watermark lacks records that a dead process wrote late, so a first page is read although the watermark has no records.
    const mayBeEmpty = asked.after === undefined && (isCounted || skipOf(asked) > 0);
    if (mayBeEmpty && skipOf(asked) >= total + uncountedMax(watermark)) return { found: [], ...counted };
    const isReadInParts = narrowing.details === true && wanted > wholeAtOnceMax;

    const end = ends.before(query);
    const skip = end === undefined ? skipOf(asked) : 0;
    const isPlanned = isTimed(query) && end === undefined;
    const { begin, created } =
      isPlanned && matching !== undefined ? await findBegin(query, matching, total) : fromStart;
    const plan =
      !isPlanned || begin !== undefined
        ? 'in-order'
        : choosePlan(total, watermark.total, skip + wanted, created);
    if (matching !== undefined && plan === 'by-time' && isWorthListing(total, query)) {
      const { orders } = await listOrders(query, matching);
      const rest = orders.slice(asked.after === undefined ? skip : indexAfter(orders, asked.after));
      const atOnce = isReadInParts ? wholeAtOnceMax : wanted;
      return { found: readOrders<Document>(documents, query, matching, rest, atOnce), ...counted };
    }
    const find = (after: string | undefined, skipped: number, count: number): Promise<Document[]> =>
      documents
        .find<Document>(
          { ...(matching ?? { integration }), ...orderWithin({ ...asked, after }) },
          { projection, ...allOfThem(count) },
        )
        .hint(indexFor(narrowing, plan, time))
        .sort({ ...(plan === 'in-order' ? inOrderOf(narrowing) : orderIndex.key) })
        .skip(skipped)
        .limit(count)
        .toArray();
    const from = end ?? begin ?? asked.after;
    if (isReadInParts) return { found: readInParts(find, from, skip, wanted), ...counted };
    const found = await find(from, skip, wanted);
    ends.note(query, found);
    return { found, ...counted };
  };
}

function openCount(documents: Collection<ListedDocument>) {
  const totals = openFairCache<{ total: number }>(smallBounds);
  /** Counts the matches, unless the cursor or this replica knows their number. */
  return async (query: PageQuery, matching: Filter<ListedDocument>): Promise<number> => {
    const { integration, asked, narrowing, time } = query;
    if (asked.total !== undefined) return asked.total;
    const asOf = asOfWatermark(query.watermark);
    const key = `${filterKey(query)} ${asOf}`;
    const known = asOf === undefined ? undefined : totals.get(integration, key);
    if (known !== undefined) return known.total;
    const plan = isTimed(query) ? 'by-time' : 'in-order';
    const total = await documents.countDocuments(matching, { hint: indexFor(narrowing, plan, time) });
    if (asOf !== undefined) totals.set(integration, key, { total });
    return total;
  };
}

interface Begin {
  /** The `order` of every match is greater than `begin`. Undefined if matches may have any `order`. */
  begin: string | undefined;
  /** How many of the matches were created after `since` or `changedSince`. */
  created: number;
}

const fromStart: Begin = { begin: undefined, created: 0 };

/**
 * Every record that was created after `since` or `changedSince` matches. If no other record matches, a walk begins at the first
 * of these. The journal's numbers of created records are added up sooner than records are counted. But in a database that was
 * restored from backups of several moments, the journal may have pushes whose records are missing.
 */
function openBegins(documents: Collection<ListedDocument>) {
  const begins = openFairCache<Begin>(smallBounds);
  return async (query: PageQuery, matching: Filter<ListedDocument>, total: number): Promise<Begin> => {
    const { integration, asked, narrowing, time } = query;
    const { ids, until, changedSince, status } = narrowing;
    const from = changedSince ?? asked.since;
    const isBounded = from === undefined || (until ?? ids ?? status ?? asked.after) !== undefined;
    if (isBounded || total <= soughtMin || total > query.watermark.total * soughtShareMax) return fromStart;
    const asOf = asOfWatermark(query.watermark);
    const key = `${filterKey(query)} ${asOf}`;
    const known = asOf === undefined ? undefined : begins.get(integration, key);
    if (known !== undefined) return known;
    // A record that was created in the millisecond `from` may also have `from` as its stamp, and then does not match.
    const begin = syncIdsFrom(new Date(from.getTime() + 1));
    const created =
      (asOf && (await query.createdAfter?.(begin))) === total
        ? total
        : await documents.countDocuments({ integration, order: { $gt: begin } }, { hint: orderIndex.name });
    // If a push came after the matches were counted, they are counted again, because the push may have created records.
    const isCurrent =
      created < total || (asOf !== undefined && asOf === asOfWatermark(await query.readAgain()));
    const matches = isCurrent
      ? total
      : await documents.countDocuments(matching, { hint: indexFor(narrowing, 'by-time', time) });
    const isBegin = created >= matches;
    const found = isBegin ? { begin, created } : { begin: undefined, created: Math.min(created, total - 1) };
    if (asOf !== undefined) begins.set(integration, key, found);
    return found;
  };
}

function openOrders(documents: Collection<ListedDocument>) {
  const lists = openFairCache<Orders>({ ...listBounds, sizeOf: ({ orders }) => Math.max(1, orders.length) });
  /** The `order` of each match; for a page after a cursor, of each match from that page on. */
  return async (query: PageQuery, matching: Filter<ListedDocument>): Promise<Orders> => {
    const { integration, asked, narrowing, time, watermark } = query;
    const key = `${filterKey(query)} ${asked.nextSince.getTime()} ${asked.until ?? ''}`;
    const from = asked.after ?? '';
    const known = lists.get(integration, key);
    // The list may lack matches that are later than `X-Next-Since`. A numbered page must also show these.
    const isComplete = asked.after !== undefined || asOfWatermark(watermark) !== undefined;
    if (known !== undefined && known.from <= from && isComplete) return known;
    const found = documents
      .find<Pick<ListedDocument, 'order'>>(
        { ...matching, ...orderWithin(asked) },
        { projection: { _id: 0, order: 1 }, batchSize: ordersAtOnceMax },
      )
      .hint(indexFor(narrowing, 'by-time', time));
    const orders: string[] = [];
    for await (const { order } of found) orders.push(order);
    const listed = { from, orders: orders.toSorted() };
    lists.set(integration, key, listed);
    return listed;
  };
}

/**
 * Reads whole records, which may be large, until the page is full. Each part is a separate query: for a cursor of several
 * batches, FerretDB opens and closes a connection to PostgreSQL, which takes longer than the page.
 */
async function* readInParts<Document extends ListedDocument>(
  find: (after: string | undefined, skip: number, count: number) => Promise<Document[]>,
  from: string | undefined,
  skip: number,
  wanted: number,
): AsyncIterable<Document> {
  let [after, skipped] = [from, skip];
  for (
    let left = wanted, count = wholeAtOnceMax;
    left > 0;
    left -= count, count = Math.min(2 * count, left)
  ) {
    const found = await find(after, skipped, count);
    yield* found;
    if (found.length < count) return;
    [after, skipped] = [found.at(-1)?.order, 0];
  }
}

/** Reads the documents with these `order` values as far as they are asked for. Skips documents that no longer match. */
async function* readOrders<Document extends ListedDocument>(
  documents: Collection<ListedDocument>,
  { projection }: PageQuery,
  matching: Filter<ListedDocument>,
  orders: readonly string[],
  atOnce: number,
): AsyncIterable<Document> {
  for (let at = 0, count = atOnce; at < orders.length; at += count, count = Math.min(2 * count, rereadMax)) {
    yield* await documents
      .find<Document>(
        { ...matching, order: { $in: orders.slice(at, at + count) } },
        { projection, ...allOfThem(count) },
      )
      .hint(orderIndex.name)
      .sort({ integration: 1, order: 1 })
      .toArray();
  }
}

function openEnds() {
  const ends = openFairCache<{ after: string; asOf: string | undefined }>(smallBounds);
  return {
    /** The end of the page before a numbered page; undefined if the earlier pages may have got further matches since. */
    before(query: PageQuery): string | undefined {
      const { integration, asked, narrowing, watermark, now } = query;
      const known = skipOf(asked) === 0 ? undefined : ends.get(integration, endKey(query, asked.page));
      if (known === undefined) return undefined;
      const isFiltered = isTimed(query) || narrowing.status !== undefined;
      const isLasting = !isFiltered && known.after < syncIdsFrom(new Date(now - lateMs));
      const asOf = asOfWatermark(watermark);
      return isLasting || (asOf !== undefined && asOf === known.asOf) ? known.after : undefined;
    },

    note(query: PageQuery, found: readonly ListedDocument[]): void {
      const { integration, asked, narrowing, watermark } = query;
      const last = found.length > asked.limit ? found[asked.limit - 1] : undefined;
      if (last === undefined || asked.after !== undefined || narrowing.ids !== undefined) return;
      ends.set(integration, endKey(query, asked.page + 1), {
        after: last.order,
        asOf: asOfWatermark(watermark),
      });
    },
  };
}

interface Orders {
  /** `orders` lists all matches whose `order` is greater than `from`. */
  from: string;
  orders: readonly string[];
}

/** The `order` values of two walks of `listedMax` matches fit into the bound of an integration. One takes some 64 bytes. */
const listBounds = { max: 200_000, shareMax: 100_000, ttlMs: 5 * 60_000 };
const listedMax = 50_000;
/** How many `order` values come in one answer of the database: decoding them takes a millisecond. */
const ordersAtOnceMax = 2_000;
/** The most records that one query reads in place of listed records that no longer match. */
const rereadMax = 500;
const smallBounds = { max: 20_000, shareMax: 500, ttlMs: 60_000, sizeOf: () => 1 };
/** How long after the time in its sync id a push may add records: it may wait, write slowly, and have another clock. */
const lateMs = 2 * watchMs;

/** No `order` values are listed if one page has all matches (the database sorts them), or if the caller lists a few ids. */
const isWorthListing = (total: number, { asked, narrowing }: PageQuery): boolean =>
  narrowing.ids === undefined && total > asked.limit && total <= listedMax;

/** A text that stays the same while no push changes the listing; undefined while a push is open. */
const asOfWatermark = ({ stamp, total, open }: Watermark): string | undefined =>
  isNoneOpen({ open }) ? `${stamp} ${total}` : undefined;

/** Whether the listing has a filter other than a status: an index finds the documents of a status in their order. */
const isTimed = ({ asked: { since }, narrowing: { ids, until, changedSince } }: PageQuery): boolean =>
  (since ?? ids ?? until ?? changedSince) !== undefined;

const filterKey = ({
  asked: { since },
  narrowing: { ids, until, changedSince, status },
}: PageQuery): string =>
  `${[since, changedSince, until].map((time) => time?.getTime()).join()} ${ids?.join() ?? ''} ${status ?? ''}`;

/** The keys of the index that finds the documents in creation order. */
const inOrderOf = ({ status }: Narrowing) => (status === undefined ? orderIndex.key : statusIndex.key);

const endKey = (query: PageQuery, page: number): string => `${filterKey(query)} ${query.asked.limit} ${page}`;

/** How many of the sorted `orders` are at most `after`. */
function indexAfter(orders: readonly string[], after: string): number {
  let [low, high] = [0, orders.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((orders[middle] ?? '') > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The bounds of a page that begins after a record; other pages have none. */
function orderWithin({ after, until }: Pick<PageAsked, 'after' | 'until'>): Filter<ListedDocument> {
  if (after === undefined) return {};
  return { order: { $gt: after, ...(until === undefined ? {} : { $lt: until }) } };
}

const uncountedMax = ({ open }: Watermark): number => Object.keys(open).length * limits.itemsPerPushMax;

/** How many whole records are read at a time: a page is full at 4 MiB, and reading more is wasted. */
const wholeAtOnceMax = 26;

/**
 * `by-time` reads and sorts every match. `in-order` reads records until it has found the wanted matches: at most these and all
 * records that do not match. The estimate assumes that the matches among the older records are evenly spread, but recently synced
 * records are often at the end. So `in-order` is chosen only if it is ten times cheaper by the estimate.
 */
export function choosePlan(matches: number, total: number, wanted: number, created = 0): SincePlan {
  if (matches <= sortedMax) return 'by-time';
  const all = Math.max(total, matches);
  const walked = (wanted * (all - created)) / (matches - created);
  return Math.min(walked * reserve, all - matches + wanted) < matches ? 'in-order' : 'by-time';
}

const sortedMax = 2_000;
/** The first match is sought only between these bounds: few matches are sorted soon, and among many a page is full soon. */
const soughtMin = 500;
const soughtShareMax = 0.75;
const reserve = 10;
