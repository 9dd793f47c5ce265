// Reads the parameters of a listing besides `since`, and makes the MongoDB filter of all of them, `since` included. A listing of
// records takes `externalId`, `until`, `changedSince` and `details`; a listing of drafts takes `batchExternalId` and `status`. A
// cursor keeps these parameters, with document ids for externalIds: a hundred externalIds may be longer than a URL. Pure.
import {
  ddsStatuses,
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
import { derivedId, internalIdOf, packIds, unpackIds } from '../ids.ts';
import { idCheck } from '../items/validate.ts';
import { changedIndex, withoutTime } from '../records/change-times.ts';
import { orderIndex, statusIndex, syncedIndex } from '../names.ts';
import type { ReadFilters } from './listing-request.ts';

export interface Narrowing {
  /** The ids of documents to which the listing is limited; such documents need not exist. */
  ids?: readonly string[] | undefined;
  /** Limits a listing to records synchronised by this time; with `changedSince`, to records last changed by this time. */
  until?: Date | undefined;
  /** Limits a listing to records that have changed after this time. */
  changedSince?: Date | undefined;
  /** Whether each entity shows its whole record. */
  details?: boolean;
  /** Limits a listing to drafts with this status. */
  status?: string | undefined;
}

/** The fields that every listed document has. */
export interface ListedDocument {
  _id: string;
  integration: string;
  order: string;
  lastSyncedAt: Date;
  /** When the record last changed; absent in drafts. */
  changedAt?: Date;
  /** The entry of a draft; absent in records. */
  entry?: { status: string };
}

/** The filters of a listing besides `since`. */
export interface NarrowingRule {
  read(integration: string): ReadFilters;
  /** The conditions on documents that the filters of a cursor or of a request mean. */
  narrowingOf(filters: Filters): Narrowing;
}

type Asked = Pick<KindEngine, 'kind' | 'validate'>;

export const recordNarrowing = (of: Asked): NarrowingRule => ({
  read: (integration) => (parameters, errors, asked) => {
    const ids = readIds(of, integration, 'externalId', parameters, errors);
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
      externalId: ids && packedIds(ids),
      until: until?.toISOString(),
      changedSince: changedSince?.toISOString(),
      details: details === 'true' ? details : undefined,
    };
  },
  narrowingOf: ({ externalId, until, changedSince, details }) => ({
    ids: unpackedIds(of.kind.idPrefix, externalId),
    until: until === undefined ? undefined : new Date(until),
    changedSince: changedSince === undefined ? undefined : new Date(changedSince),
    details: details === 'true',
  }),
});

export const draftNarrowing = (of: Asked, idPrefix: string): NarrowingRule => ({
  read: (integration) => (parameters, errors) => {
    const records = readIds(of, integration, 'batchExternalId', parameters, errors);
    const drafts = records?.map((internalId) => derivedId(idPrefix, internalId));
    const status = readOneOf(parameters, 'status', ddsStatuses, errors);
    return { batchExternalId: drafts && packedIds(drafts), status };
  },
  narrowingOf: ({ batchExternalId, status }) => ({ ids: unpackedIds(idPrefix, batchExternalId), status }),
});

/** The ids sorted, so that the same ids in another order make the same filter. */
const packedIds = (ids: readonly string[]): string =>
  Buffer.from(packIds(ids.toSorted())).toString('base64url');

const unpackedIds = (prefix: string, packed: string | undefined): string[] | undefined =>
  packed === undefined ? undefined : unpackIds(prefix, Buffer.from(packed, 'base64url'));

/** The internal ids of the records that the parameter names, without duplicates. */
function readIds(
  { kind, validate }: Asked,
  integration: string,
  name: string,
  parameters: URLSearchParams,
  errors: FailureEntry[],
): string[] | undefined {
  const given = parameters.getAll(name);
  if (given.length === 0) return undefined;
  const refuse = (expected: string, got: string): void => {
    errors.push({ pointer: name, detail: `${name}: expected ${expected}, got ${got}` });
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
  return [...new Set(given.map((externalId) => internalIdOf(kind.idPrefix, integration, externalId)))];
}

/** Refuses `page` beside `details` (pages may end early) and `until` (records leave the listing): page numbers mean nothing. */
function refuseNumberedPage({ page, cursor }: ListingQuery, errors: FailureEntry[]): void {
  if (page === limits.pageDefault || cursor !== undefined) return;
  const detail = 'page: expected none beside details or until; follow the Link header from the first page';
  errors.push({ pointer: 'page', detail });
}

/** Which time of a record a listing compares. It decides the index that the listing uses. */
export type TimeAsked =
  | 'synced'
  | 'changed'
  /** Some records have no `changedAt`, and count as changed at `lastSyncedAt`. */
  | 'changed-or-synced';

/** The filter of a listing; undefined for all records of the integration, whose number the watermark has. */
export function matchingOf(
  integration: string,
  { since }: Pick<ListingQuery, 'since'>,
  { ids, until, changedSince, status }: Narrowing,
  time: TimeAsked,
): Filter<ListedDocument> | undefined {
  const from = changedSince ?? since;
  if ((from ?? until ?? ids ?? status) === undefined) return undefined;
  return {
    integration,
    ...timesBetween(from, until, time),
    ...(ids === undefined ? {} : { _id: { $in: [...ids] } }),
    ...(status === undefined ? {} : { 'entry.status': status }),
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

/** `by-time` finds matches by an index of times, and sorts them; `in-order` reads the index of `order`, and filters. */
export type SincePlan = 'by-time' | 'in-order';

export function indexFor({ ids, status }: Narrowing, plan: SincePlan, time: TimeAsked): string {
  if (ids !== undefined) return '_id_';
  if (plan === 'in-order') return status === undefined ? orderIndex.name : statusIndex.name;
  return time === 'changed' ? changedIndex.name : syncedIndex.name;
}
