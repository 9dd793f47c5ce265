// What a listing is asked for, worked out from its query, and the way to the page after. Pure.
// What a time may look like: contracts/time.ts. `since` and `changedSince` are exclusive, `until` is inclusive (narrowing.ts).
import {
  basePath,
  checkBesideCursor,
  cursorExpected,
  readListingQuery,
  refuseIfAny,
  type FailureEntry,
  type ListingQuery,
} from '@integration-sync/contracts';
import { openCursor, sealCursor, type Cursor, type Filters } from './cursor.ts';

export interface PageAsked extends Omit<Cursor, 'after'> {
  /** Without it, whole pages are passed over. */
  after: string | undefined;
}

export interface CursorSeal {
  key: Uint8Array;
  /** Names what is listed, and for whom. */
  listing: string;
}

/** Reads what a listing can be narrowed by beside what it has `asked` for, and adds what is wrong to `errors`. */
export type ReadFilters = (
  parameters: URLSearchParams,
  errors: FailureEntry[],
  asked: ListingQuery,
) => Filters;

const withoutFilters: ReadFilters = () => ({});

/** Throws invalid_request, with everything that is wrong. */
export function readPageAsked(
  parameters: URLSearchParams,
  seal: CursorSeal,
  readFilters = withoutFilters,
): PageAsked {
  const errors: FailureEntry[] = [];
  const asked = readListingQuery(parameters, errors);
  const filters = readFilters(parameters, errors, asked);
  const sealed = asked.cursor;
  const cursor = sealed === undefined ? undefined : openCursor(seal.key, seal.listing, sealed);
  if (sealed !== undefined)
    checkBesideCursor(parameters, keptOf({ ...asked, filters }), cursor && keptOf(cursor), errors);
  refuseIfAny(errors);
  if (cursor !== undefined) return cursor;
  const { page, limit, since } = asked;
  return { page, limit, since, filters, after: undefined, until: undefined, nextSince: undefined };
}

const keptOf = ({ limit, since, filters }: Pick<Cursor, 'limit' | 'since' | 'filters'>) => ({
  limit,
  since: since?.getTime(),
  ...filters,
});

/**
 * Throws for a cursor whose listing is gone: records leave a watermark (`left`: its stamp), runs are there (`left`: how many)
 * until they are too old. The integration that it was issued to was removed.
 */
export function refuseCursorOfRemoved({ after }: PageAsked, left: number): void {
  if (after !== undefined && left === 0)
    refuseIfAny([{ pointer: 'cursor', detail: `cursor: ${cursorExpected}` }]);
}

/** A `Link` header to the page after, relative to wherever the caller reaches us. */
export function linkToNext(path: string, seal: CursorSeal, asked: PageAsked, after: string): string {
  const cursor = sealCursor(seal.key, seal.listing, { ...asked, after, page: asked.page + 1 });
  return `<${basePath}/${path}?cursor=${cursor}>; rel="next"`;
}

/** How a page under `since` is found: by time and then sorted, or in order and then filtered. */
export type SincePlan = 'by-time' | 'in-order';

/**
 * Sorting needs every match; walking in order needs as many records as it takes to meet a page of matches.
 * The matches are taken to be spread evenly, though the newest ones stand at the end, so walking must be far
 * cheaper to be chosen.
 */
export function choosePlan(matches: number, total: number, wanted: number): SincePlan {
  if (matches <= sortedMax) return 'by-time';
  const walked = (wanted * Math.max(total, matches)) / matches;
  return walked * reserve < matches ? 'in-order' : 'by-time';
}

const sortedMax = 2_000;
const reserve = 10;
