// Where a listing ended, sealed: a caller can carry a cursor but neither change nor make one, nor use it on
// another listing than the one that issued it. What may stand beside a cursor: `checkBesideCursor` of the contracts.
import { seal, unseal } from '@integration-sync/runtime/seal';

/** What a listing is narrowed by beside `since`: values by the names of their parameters. */
export type Filters = Readonly<Record<string, string>>;

export interface Cursor {
  /** The `order` of the last entity seen. */
  after: string;
  /** The number of the page that follows. */
  page: number;
  limit: number;
  since: Date | undefined;
  filters: Filters;
  /** An `order` at which the walk ends: what is created while it goes on belongs to the next. */
  until: string | undefined;
  /** What the first page said, so that it does not matter from which page it is taken. */
  nextSince: Date | undefined;
}

// A cursor begins with a version, which a replica refuses that knows less, instead of going on without what the cursor keeps:
//
//   1   nothing beside `since`
//   2   filters
//   3   what a listing of records is narrowed by
//   4   listings of changes
const versions = /^[1-4]$/;
const narrowing = new Set(['externalId', 'until', 'details']);
/** In none of the parts. */
const separator = ' ';

/** `listing` names whose entities of which kind are listed. */
export function sealCursor(key: Uint8Array, listing: string, cursor: Cursor): string {
  const { after, page, limit, since, until, nextSince } = cursor;
  const filters = new URLSearchParams(cursor.filters).toString();
  const parts = [
    versionOf(cursor.filters),
    after,
    page,
    limit,
    since?.getTime() ?? '',
    until ?? '',
    nextSince?.getTime() ?? '',
    ...(filters === '' ? [] : [filters]),
  ];
  return seal(key, listing, parts.join(separator));
}

function versionOf(filters: Filters): string {
  const names = Object.keys(filters);
  if (names.length === 0) return '1';
  if (names.includes('changedSince')) return '4';
  return names.some((name) => narrowing.has(name)) ? '3' : '2';
}

/** Undefined for whatever this listing did not issue. */
export function openCursor(key: Uint8Array, listing: string, text: string): Cursor | undefined {
  const content = unseal(key, listing, text);
  if (content === undefined) return undefined;
  // Ours, so its form is known, unless another release made it.
  const [version = '', after, page, limit, since, until, nextSince, filters] = content.split(separator);
  if (!versions.test(version) || after === undefined) return undefined;
  return {
    after,
    page: Number(page),
    limit: Number(limit),
    since: toDate(since),
    filters: Object.fromEntries(new URLSearchParams(filters)),
    until: until === '' ? undefined : until,
    nextSince: toDate(nextSince),
  };
}

const toDate = (at: string | undefined): Date | undefined => (at ? new Date(Number(at)) : undefined);
