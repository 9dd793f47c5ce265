// What a listing is asked for, worked out from its query, and the way to the page after. Pure.
import {
  basePath,
  Failure,
  parseListingQuery,
  refuseIfAny,
  type FailureEntry,
} from '@integration-sync/contracts';
import { openCursor, sealCursor, type Cursor } from './cursor.ts';

export interface PageAsked {
  page: number;
  limit: number;
  since: Date | undefined;
  /** The `order` of the last entity before the page; without it, whole pages are passed over. */
  after: string | undefined;
  until: string | undefined;
  /** From the first page of this walk, where there was one. */
  nextSince: Date | undefined;
}

export interface CursorSeal {
  key: Uint8Array;
  /** Names what is listed, and for whom. */
  listing: string;
}

/** Throws invalid_request, with everything that is wrong. */
export function readPageAsked(parameters: URLSearchParams, seal: CursorSeal): PageAsked {
  const asked = parseListingQuery(parameters);
  if (asked.cursor === undefined)
    return { ...asked, after: undefined, until: undefined, nextSince: undefined };
  const cursor = openCursor(seal.key, seal.listing, asked.cursor);
  if (cursor === undefined) {
    const detail = 'cursor: expected one from the Link header of this listing';
    throw new Failure('invalid_request', detail, { errors: [{ pointer: 'cursor', detail }] });
  }
  refuseIfAny(contradictions(parameters, asked, cursor));
  return cursor;
}

/** A cursor keeps `limit` and `since`. They may be said again, but not differently. */
function contradictions(
  parameters: URLSearchParams,
  asked: { limit: number; since: Date | undefined },
  cursor: Cursor,
): FailureEntry[] {
  const errors: FailureEntry[] = [];
  const refuse = (pointer: string, detail: string): void => {
    errors.push({ pointer, detail: `${pointer}: ${detail}` });
  };
  if (parameters.has('page')) refuse('page', 'expected none beside a cursor');
  if (parameters.has('limit') && asked.limit !== cursor.limit) {
    refuse('limit', `expected the ${cursor.limit} that the cursor keeps, or none`);
  }
  if (parameters.has('since') && asked.since?.getTime() !== cursor.since?.getTime()) {
    refuse('since', `expected the one that the cursor keeps, or none`);
  }
  return errors;
}

/** A `Link` header to the page after, relative to wherever the caller reaches us. */
export function linkToNext(path: string, seal: CursorSeal, asked: PageAsked, after: string): string {
  const { page, limit, since, until, nextSince } = asked;
  const cursor = sealCursor(seal.key, seal.listing, {
    after,
    page: page + 1,
    limit,
    since,
    until,
    nextSince,
  });
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
