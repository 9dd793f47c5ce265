// What a listing of records is narrowed by, and whether it shows them whole: `externalId`, `until`, `details`, and beside
// `since` the filter that they make. A cursor keeps them as its filters. It keeps internal ids in place of external ones,
// which a hundred of may be longer than a URL. Pure.
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
import type { SincePlan } from './listing-request.ts';

export interface Narrowing {
  /** Only these, whether they are there or not. */
  ids: readonly string[] | undefined;
  /** Only what was synchronised by then. */
  until: Date | undefined;
  /** Whether each entity says all that its record holds. */
  details: boolean;
}

export const notNarrowed: Narrowing = { ids: undefined, until: undefined, details: false };

/** What the filter says of a document. */
interface Narrowed {
  _id: string;
  integration: string;
  lastSyncedAt: Date;
}

type Asked = Pick<KindEngine, 'kind' | 'validate'>;

export function readNarrowing(
  of: Asked,
  integration: string,
  parameters: URLSearchParams,
  errors: FailureEntry[],
  asked: ListingQuery,
): Filters {
  const ids = readIds(of, integration, parameters, errors);
  const until = readUntil(parameters, errors, asked);
  const details = readOneOf(parameters, 'details', ['true', 'false'], errors);
  if (until !== undefined || details === 'true') refuseNumberedPage(asked, errors);
  return {
    ...(ids === undefined ? {} : { externalId: Buffer.from(packIds(ids)).toString('base64url') }),
    ...(until === undefined ? {} : { until: until.toISOString() }),
    ...(details === 'true' ? { details } : {}),
  };
}

export function narrowingOf({ kind }: Asked, { externalId, until, details }: Filters): Narrowing {
  return {
    ids:
      externalId === undefined ? undefined : unpackIds(kind.idPrefix, Buffer.from(externalId, 'base64url')),
    until: until === undefined ? undefined : new Date(until),
    details: details === 'true',
  };
}

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

function readUntil(
  parameters: URLSearchParams,
  errors: FailureEntry[],
  { since }: ListingQuery,
): Date | undefined {
  const until = readInstant(parameters, 'until', errors);
  if (until !== undefined && since !== undefined && until < since) {
    errors.push({ pointer: 'until', detail: 'until: expected a time that is not before since' });
  }
  return until;
}

/** Pages that end early, or whose records leave it meanwhile, have no place that a number could name. */
function refuseNumberedPage({ page, cursor }: ListingQuery, errors: FailureEntry[]): void {
  if (page === limits.pageDefault || cursor !== undefined) return;
  const detail = 'page: expected none beside details or until; follow the Link header from the first page';
  errors.push({ pointer: 'page', detail });
}

/** Undefined for all records of the integration, whose number is known. */
export function matchingOf(
  integration: string,
  { since }: Pick<ListingQuery, 'since'>,
  { ids, until }: Narrowing,
): Filter<Narrowed> | undefined {
  if (since === undefined && until === undefined && ids === undefined) return undefined;
  const at = {
    ...(since === undefined ? {} : { $gt: since }),
    ...(until === undefined ? {} : { $lte: until }),
  };
  return {
    integration,
    ...(Object.keys(at).length === 0 ? {} : { lastSyncedAt: at }),
    ...(ids === undefined ? {} : { _id: { $in: [...ids] } }),
  };
}

export const indexFor = ({ ids }: Narrowing, plan: SincePlan): string => {
  if (ids !== undefined) return '_id_';
  return plan === 'in-order' ? 'creation-order' : 'last-synced';
};
