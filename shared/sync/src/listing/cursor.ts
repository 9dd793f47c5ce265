// The sealed cursor of a listing: a caller can neither make nor change a cursor, nor use it on another listing. Which parameters
// may accompany a cursor: `checkBesideCursor` (contracts/listing-query.ts). The `total` beside a cursor: answer-page.ts. The `Link`:
// listing-request.ts.
import { seal, unseal } from '@integration-sync/runtime/seal';

/** The filters of a listing besides `since`: values by the names of their parameters. */
export type Filters = Readonly<Record<string, string | undefined>>;

export interface Cursor {
  /** The `order` of the last entity seen. */
  after: string;
  /** The number of the page that follows. */
  page: number;
  limit: number;
  since: Date | undefined;
  filters: Filters;
  /** The `order` at which the listing ends: records created after its first page belong to the next poll. */
  until?: string | undefined;
  /** The `X-Next-Since` of the first page, which all pages repeat. */
  nextSince?: Date | undefined;
  /** How many entities matched at the first page. Undefined if the watermark has this number, and in cursors of release 1.1.0. */
  total?: number | undefined;
  /** How many entities the pages up to this one have shown or skipped. */
  shown: number;
}

// A cursor begins with a version, so that a replica of an earlier release refuses a cursor whose filters it does not know:
//
//   1   no filter but `since`
//   2   filters of sync runs
//   3   filters of records: externalId, until, details
//   4   changedSince
//   5   filters of drafts, and `client` of sync runs
//
// The counts of a walk are at the end of the cursor, where earlier releases read nothing.
const versions = /^[1-5]$/;
const narrowing = new Set(['externalId', 'until', 'details']);
const latest = new Set(['status', 'batchExternalId', 'client']);
/** No part of a cursor contains a space. */
const separator = ' ';

/** `listing` names the integration and the listed collection. */
export function sealCursor(key: Uint8Array, listing: string, cursor: Cursor): string {
  const { after, page, limit, since, until, nextSince, total, shown } = cursor;
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(cursor.filters)) if (value !== undefined) given.set(name, value);
  const filters = given.toString();
  const parts = [
    versionOf([...given.keys()]),
    after,
    page,
    limit,
    since?.getTime() ?? '',
    until ?? '',
    nextSince?.getTime() ?? '',
    ...(total === undefined ? (filters === '' ? [] : [filters]) : [filters, total, shown]),
  ];
  return seal(key, listing, parts.join(separator));
}

function versionOf(names: readonly string[]): string {
  if (names.length === 0) return '1';
  if (names.some((name) => latest.has(name))) return '5';
  if (names.includes('changedSince')) return '4';
  return names.some((name) => narrowing.has(name)) ? '3' : '2';
}

/** The content of a sealed cursor; undefined for a text that this listing did not issue. */
export function openCursor(key: Uint8Array, listing: string, text: string): Cursor | undefined {
  const content = unseal(key, listing, text);
  if (content === undefined) return undefined;
  // A sealed cursor has this form, unless a later release made it.
  const [version = '', after, page, limit, since, until, nextSince, filters, total, shown] =
    content.split(separator);
  if (!versions.test(version) || after === undefined) return undefined;
  return {
    after,
    page: Number(page),
    limit: Number(limit),
    since: toDate(since),
    filters: Object.fromEntries(new URLSearchParams(filters)),
    until: until === '' ? undefined : until,
    nextSince: toDate(nextSince),
    total: total === undefined ? undefined : Number(total),
    shown: Number(shown ?? 0),
  };
}

const toDate = (at: string | undefined): Date | undefined => (at ? new Date(Number(at)) : undefined);
