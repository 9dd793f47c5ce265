// What a listing of records is narrowed by, and whether it shows them whole: `externalId`, `until`, `changedSince`, `details`, and
// beside `since` the filter that they make. A cursor keeps them as its filters. It keeps internal ids in place of external
// ones, which a hundred of may be longer than a URL. Pure.
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
import type { ReadFilters, SincePlan } from './listing-request.ts';

export interface Narrowing {
  /** Only these, whether they are there or not. */
  ids: readonly string[] | undefined;
  /** Only what was synchronised by then; beside `changedSince`, what had last changed by then. */
  until: Date | undefined;
  /** Only what has changed since. */
  changedSince: Date | undefined;
  /** Whether each entity says all that its record holds. */
  details: boolean;
}

/** What every listed document has. */
export interface ListedDocument {
  _id: string;
  integration: string;
  order: string;
  lastSyncedAt: Date;
  /** Of records. */
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

/** Only a listing of records is narrowed. */
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

/** In one order, each once: said again in another order they are the same. */
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

/** Pages that end early, or whose records leave it meanwhile, have no place that a number could name. */
function refuseNumberedPage({ page, cursor }: ListingQuery, errors: FailureEntry[]): void {
  if (page === limits.pageDefault || cursor !== undefined) return;
  const detail = 'page: expected none beside details or until; follow the Link header from the first page';
  errors.push({ pointer: 'page', detail });
}

/** Which time a listing asks for, and so by which index it finds what it shows. */
export type TimeAsked =
  | 'synced'
  | 'changed'
  /** Some records have no time of change, and count as changed when they were last synchronised. */
  | 'changed-or-synced';

/** Undefined for all records of the integration, whose number is known. */
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
  // No record changes later than it is synchronised, so that the index of those times has all of them.
  return { lastSyncedAt: after, $or: [{ changedAt: at }, { ...withoutTime, lastSyncedAt: at }] };
}

const indexByTime = {
  synced: syncedIndex.name,
  changed: changedIndex.name,
  'changed-or-synced': syncedIndex.name,
} as const;

export const indexFor = ({ ids }: Narrowing, plan: SincePlan, time: TimeAsked): string => {
  if (ids !== undefined) return '_id_';
  return plan === 'in-order' ? orderIndex.name : indexByTime[time];
};
