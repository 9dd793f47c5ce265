// The attempt log as a listing: newest first, filtered, by page or by cursor. An endpoint's log is short
// (1,000 entries, or what 7 days bring), so the replica reads all of it.
import {
  basePath,
  eventKinds,
  quote,
  readListingQuery,
  readOnce,
  refuseIfAny,
  requestHeaders,
  subjects,
  testKind,
  type DeliveryAttempt,
  type FailureEntry,
  type ListingQuery,
} from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import type { AttemptLog, LoggedAttempt } from '../delivering/attempt-log.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { invalidRequest } from './body.ts';
import { openCursor, sealCursor, type Cursor } from './cursor.ts';
import { endpointOf } from './handlers.ts';

export interface AttemptsOptions {
  endpoints: Endpoints;
  attemptLog: Pick<AttemptLog, 'read'>;
  cursorKey: string;
}

/** An attempt is listed when it has ended, under the time when it began, which is this long before at most. */
const settlingMs = 12_000;

export const attemptsHandlers = ({
  endpoints,
  attemptLog,
  cursorKey,
}: AttemptsOptions): Record<string, BusHandler> => ({
  [subjects.deliveriesList]: async (request) => {
    const query = new URLSearchParams(request.headers.get(requestHeaders.query) ?? '');
    const asked = readQuery(query);
    const endpoint = await endpointOf(endpoints, request);
    const { _id } = endpoint;
    const start = startOf(asked, cursorKey, _id);
    if (asked.cursor !== undefined) refuseOthers(query, asked, start);
    const all = (await attemptLog.read(endpoint, request.deadline)).toReversed();
    const listed = listAttempts(all, start);
    const next =
      listed.next === undefined
        ? undefined
        : linkTo(_id, sealCursor(cursorKey, _id, listed.next), start.limit);
    return {
      body: JSON.stringify({
        entities: listed.entities,
        total: listed.total,
        page: start.page,
        limit: start.limit,
      }),
      headers: {
        'x-next-since': nextSince(all, start.sinceMs, Date.now()).toISOString(),
        ...(next === undefined ? {} : { link: next }),
      },
    };
  },
});

type Asked = ListingQuery & { outcome: string | undefined; event: string | undefined };

function readQuery(query: URLSearchParams): Asked {
  const errors: FailureEntry[] = [];
  const listing = readListingQuery(query, errors);
  const oneOf = (name: string, values: readonly string[]): string | undefined => {
    const value = readOnce(query, name, errors);
    if (value !== undefined && !values.includes(value)) {
      errors.push({
        pointer: name,
        detail: `${name}: expected one of ${values.join(', ')}, got ${quote(value)}`,
      });
    }
    return value;
  };
  const outcome = oneOf('outcome', ['succeeded', 'failed']);
  const event = oneOf('event', [...eventKinds, testKind]);
  refuseIfAny(errors);
  return { ...listing, outcome, event };
}

/** Where the page begins: a cursor keeps all filters of the first question. */
function startOf(
  { page, limit, since, cursor, outcome, event }: Asked,
  key: string,
  endpointId: string,
): Start {
  if (cursor === undefined) {
    const filters = { sinceMs: since?.getTime() ?? null, outcome: outcome ?? null, event: event ?? null };
    return { before: undefined, page, limit, ...filters };
  }
  const opened = openCursor(key, endpointId, cursor);
  if (opened !== undefined) return opened;
  throw invalidRequest([{ pointer: 'cursor', detail: 'cursor: not one that this listing issued' }]);
}

/** Beside a cursor, only what it keeps anyway. */
function refuseOthers(query: URLSearchParams, asked: Asked, kept: Start): void {
  const errors: FailureEntry[] = [];
  const compare = (name: string, given: Kept | undefined, keptValue: Kept): void => {
    if (!query.has(name) || given === keptValue) return;
    errors.push({
      pointer: name,
      detail: `${name}: expected what the cursor keeps, or none beside a cursor`,
    });
  };
  compare('page', undefined, null);
  compare('limit', asked.limit, kept.limit);
  compare('since', asked.since?.getTime(), kept.sinceMs);
  compare('outcome', asked.outcome, kept.outcome);
  compare('event', asked.event, kept.event);
  refuseIfAny(errors);
}

type Kept = string | number | null;

type Start = Omit<Cursor, 'before'> & { before: number | undefined };

/** `all` is newest first. */
export function listAttempts(all: readonly LoggedAttempt[], start: Start) {
  const { before, page, limit, sinceMs, outcome, event } = start;
  const matching = all.filter(
    (entry) =>
      (sinceMs === null || Date.parse(entry.at) > sinceMs) &&
      (outcome === null || entry.outcome === outcome) &&
      (event === null || entry.event === event),
  );
  const from =
    before === undefined ? (page - 1) * limit : matching.filter(({ place }) => place >= before).length;
  const shown = matching.slice(from, from + limit);
  const last = shown.at(-1);
  const hasMore = last !== undefined && from + shown.length < matching.length;
  return {
    entities: shown.map(withoutPlace),
    total: matching.length,
    next: hasMore ? { ...start, before: last.place, page: page + 1 } : undefined,
  };
}

const withoutPlace = ({ place: _place, ...entry }: LoggedAttempt): DeliveryAttempt => entry;

/** Never behind the given one, never ahead of what may still be listed. */
export function nextSince(all: readonly LoggedAttempt[], sinceMs: number | null, nowMs: number): Date {
  const settledMs = nowMs - settlingMs;
  const newestMs = all.length === 0 ? settledMs : Math.max(...all.map(({ at }) => Date.parse(at)));
  return new Date(Math.max(sinceMs ?? 0, Math.min(newestMs, settledMs)));
}

const linkTo = (id: string, cursor: string, limit: number): string =>
  `<${basePath}/webhook-events/${id}/deliveries?cursor=${cursor}&limit=${limit}>; rel="next"`;
