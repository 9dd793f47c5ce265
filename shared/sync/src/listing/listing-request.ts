// Reads the query of a listing, and makes the link to its next page. Pure.
// How `page` and `limit` are read and clamped, and what may stand beside a cursor: contracts/listing-query.ts. The format of times:
// contracts/time.ts. `since` and `changedSince` are exclusive, `until` is inclusive (listing-filters.ts).
import {
  basePath,
  checkBesideCursor,
  cursorExpected,
  queryErrorsOf,
  readListingQuery,
  refuseIfAny,
  type FailureEntry,
  type ListingQuery,
} from '@integration-sync/contracts';
import { queryOf, type BusRequest } from '@integration-sync/runtime/bus';
import { openCursor, sealCursor, type Cursor, type Filters } from './cursor.ts';

export interface PageAsked extends Omit<Cursor, 'after'> {
  /** The last `order` of the page before; undefined for a numbered page, which skips records. */
  after?: string | undefined;
}

export const skipOf = ({ page, limit, after }: Pick<PageAsked, 'page' | 'limit' | 'after'>): number =>
  after === undefined ? (page - 1) * limit : 0;

export interface CursorSeal {
  key: Uint8Array;
  /** A text that names the integration and the listed collection. */
  listing: string;
}

/** Reads the filters of a listing that are not in `asked`. Adds an error to `errors` for each invalid filter. */
export type ReadFilters = (
  parameters: URLSearchParams,
  errors: FailureEntry[],
  asked: ListingQuery,
) => Filters;

/** Throws invalid_request with all errors of the query. */
export function readPageAsked(
  request: Pick<BusRequest, 'headers'>,
  seal: CursorSeal,
  readFilters: ReadFilters,
): PageAsked {
  const parameters = queryOf(request);
  const errors = queryErrorsOf(request);
  const asked = readListingQuery(parameters, errors);
  const filters = readFilters(parameters, errors, asked);
  const sealed = asked.cursor;
  const cursor = sealed === undefined ? undefined : openCursor(seal.key, seal.listing, sealed);
  if (sealed !== undefined)
    checkBesideCursor(parameters, keptOf({ ...asked, filters }), cursor && keptOf(cursor), errors);
  refuseIfAny(errors);
  if (cursor !== undefined) return cursor;
  const { page, limit, since } = asked;
  return { page, limit, since, filters, shown: 0 };
}

const keptOf = ({ limit, since, filters }: Pick<Cursor, 'limit' | 'since' | 'filters'>) => ({
  limit,
  since: since?.getTime(),
  ...filters,
});

/** Throws for a cursor if `ops purge` has removed the integration: then `left`, its last stamp or number of runs, is 0. */
export function refuseCursorOfRemoved({ after }: PageAsked, left: number): void {
  if (after !== undefined && left === 0)
    refuseIfAny([{ pointer: 'cursor', detail: `cursor: ${cursorExpected}` }]);
}

/** A `Link` header to the next page, relative to the caller's URL of this API. */
export function linkToNext(path: string, seal: CursorSeal, asked: PageAsked, after: string): string {
  const cursor = sealCursor(seal.key, seal.listing, { ...asked, after, page: asked.page + 1 });
  return `<${basePath}/${path}?cursor=${cursor}>; rel="next"`;
}
