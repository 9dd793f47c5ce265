// Reads the parameters of a listing of records besides `since` (`externalId`, `until`, `changedSince` and `details`), and
// makes the MongoDB filter of all of them, `since` included. A cursor keeps these parameters, with internal ids in place of
// externalIds, because a hundred externalIds may be longer than a URL. Pure.
import {
  limits,
  quote,
  readInstant,
  readOneOf,
  type FailureEntry,
  type ListingQuery,
} from '@integration-sync/contracts';
import type { Filter } from '@integration-sync/runtime/store';
import type { Filters } from './cursor.ts';
import type { KindEngine } from '../engine.ts';
import { internalIdOf, packIds, unpackIds } from '../ids.ts';
import { idCheck } from '../items/validate.ts';
import { changedIndex, withoutTime } from '../records/change-times.ts';
import { orderIndex, syncedIndex } from '../names.ts';
import type { ReadFilters } from './listing-request.ts';

export interface Narrowing {
  /** The internal ids to which the listing is limited; such records need not exist. */
  ids: readonly string[] | undefined;
  /** Only records synchronised by this time; with `changedSince`, only records last changed by this time. */
  until: Date | undefined;
  /** Only records that have changed after this time. */
  changedSince: Date | undefined;
  /** Whether each entity shows its whole record. */
  details: boolean;
}

/** The fields that every listed document has. */
export interface ListedDocument {
  _id: string;
  integration: string;
  order: string;
  lastSyncedAt: Date;
  /** Absent in drafts. */
  changedAt?: Date;
}

type Asked = Pick<KindEngine, 'kind' | 'validate'>;

export const readNarrowing =
  (of: Asked, integration: string): ReadFilters =>
  (parameters, errors, asked) => {
    const ids = readIds(of, integration, parameters, errors);
    const { since } = asked;
    const changedSince = readInstant(parameters, 'changedSince', errors);
    if (changedSince !== undefined && since !== undefined) {
      errors.push({ pointer: 'changedSince', detail: 'changedSince: expected none beside since' });
    }
    const until = readInstant(parameters, 'until', errors);
    for (const [name, time] of Object.entries({ since, changedSince })) {
      if (until !== undefined && time !== undefined && until < time) {
        errors.push({ pointer: 'until', detail: `until: expected a time that is not before ${name}` });
      }
    }
    const details = readOneOf(parameters, 'details', ['true', 'false'], errors);
    if (until !== undefined || details === 'true') refuseNumberedPage(asked, errors);
    return {
      ...(ids === undefined ? {} : { externalId: Buffer.from(packIds(ids)).toString('base64url') }),
      ...(until === undefined ? {} : { until: until.toISOString() }),
      ...(changedSince === undefined ? {} : { changedSince: changedSince.toISOString() }),
      ...(details === 'true' ? { details } : {}),
    };
  };

/** The narrowing that a cursor's or request's filters stand for; only a listing of records has one. */
export const narrowingOf = (
  of: Asked | undefined,
  { externalId, until, changedSince, details }: Filters,
): Narrowing => ({
  ids:
    of === undefined || externalId === undefined
      ? undefined
      : unpackIds(of.kind.idPrefix, Buffer.from(externalId, 'base64url')),
  until: until === undefined ? undefined : new Date(until),
  changedSince: changedSince === undefined ? undefined : new Date(changedSince),
  details: details === 'true',
});

/** The internal ids sorted and without duplicates, so that the same ids in another order make the same filter. */
function readIds(
  { kind, validate }: Asked,
  integration: string,
  parameters: URLSearchParams,
  errors: FailureEntry[],
): string[] | undefined {
  const given = parameters.getAll('externalId');
  if (given.length === 0) return undefined;
  const refuse = (expected: string, got: string): void => {
    errors.push({ pointer: 'externalId', detail: `externalId: expected ${expected}, got ${got}` });
  };
  if (given.length > limits.idsListedMax) {
    refuse(`at most ${limits.idsListedMax} of them`, String(given.length));
    return undefined;
  }
  const { 'x-expected': expected = 'another value' }: { 'x-expected'?: string } =
    kind.schema.properties['externalId'] ?? {};
  const isId = idCheck(validate);
  for (const externalId of given) {
    if (!isId(externalId)) refuse(expected, quote(externalId));
  }
  const ids = new Set(given.map((externalId) => internalIdOf(kind.idPrefix, integration, externalId)));
  return [...ids].toSorted();
}

/** Refuses `page` beside `details` or `until`: such pages may end early or lose records, so page numbers mean nothing. */
function refuseNumberedPage({ page, cursor }: ListingQuery, errors: FailureEntry[]): void {
  if (page === limits.pageDefault || cursor !== undefined) return;
  const detail = 'page: expected none beside details or until; follow the Link header from the first page';
  errors.push({ pointer: 'page', detail });
}

/** The time by which a listing finds its records, and so the index that it uses. */
export type TimeAsked =
  | 'synced'
  | 'changed'
  /** Some records have no `changedAt`, and count as changed at `lastSyncedAt`. */
  | 'changed-or-synced';

/** The filter of a listing; undefined for all records of the integration, whose number the watermark has. */
export function matchingOf(
  integration: string,
  { since }: Pick<ListingQuery, 'since'>,
  { ids, until, changedSince }: Narrowing,
  time: TimeAsked,
): Filter<ListedDocument> | undefined {
  const from = changedSince ?? since;
  if (from === undefined && until === undefined && ids === undefined) return undefined;
  return {
    integration,
    ...timesBetween(from, until, time),
    ...(ids === undefined ? {} : { _id: { $in: [...ids] } }),
  };
}

function timesBetween(
  from: Date | undefined,
  until: Date | undefined,
  time: TimeAsked,
): Filter<ListedDocument> {
  const after = from === undefined ? {} : { $gt: from };
  const at = { ...after, ...(until === undefined ? {} : { $lte: until }) };
  if (Object.keys(at).length === 0) return {};
  if (time === 'synced') return { lastSyncedAt: at };
  if (time === 'changed') return { changedAt: at };
  // `changedAt` is never later than `lastSyncedAt`, so the index of `lastSyncedAt` finds all of these records.
  return { lastSyncedAt: after, $or: [{ changedAt: at }, { ...withoutTime, lastSyncedAt: at }] };
}

/** How a page of matches is found: by the index of times and sorted, or by the index of `order` and filtered. */
export type SincePlan = 'by-time' | 'in-order';

export function indexFor({ ids }: Narrowing, plan: SincePlan, time: TimeAsked): string {
  if (ids !== undefined) return '_id_';
  if (plan === 'in-order') return orderIndex.name;
  return time === 'changed' ? changedIndex.name : syncedIndex.name;
}
