// The attempt log as a listing: newest first, filtered, by page or by cursor. An endpoint's log is short
// (1,000 entries, or what 7 days bring), so the replica reads all of it. And one event of it: what was sent, what was answered.
import {
  basePath,
  checkBesideCursor,
  type DeliveryAttempt,
  eventBatchesStream,
  type EventDelivery,
  eventKinds,
  Failure,
  type FailureEntry,
  type ListingQuery,
  quote,
  readListingQuery,
  readOnce,
  refuseIfAny,
  requestHeaders,
  storedBatches,
  subjects,
  testKind,
} from '@integration-sync/contracts';
import { queryOf, type Bus, type BusHandler } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { seal, unseal } from '@integration-sync/runtime/seal';
import type { AttemptLog, LoggedAttempt, StoredAttempt } from '../delivering/attempt-log.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { readBatch, type StreamEvent } from '../log/batch.ts';
import { endpointOf, json } from './handlers.ts';

interface AttemptsOptions {
  endpoints: Endpoints;
  attemptLog: Pick<AttemptLog, 'read'>;
  cursorKey: string;
}

/** An attempt is listed when it has ended, under the time of its begin, at most so long before. */
const settlingMs = 12_000;

export const attemptsHandlers = ({
  endpoints,
  attemptLog,
  cursorKey,
}: AttemptsOptions): Record<string, BusHandler> => ({
  [subjects.deliveriesList]: async (request) => {
    const query = queryOf(request);
    const asked = readQuery(query);
    const endpoint = await endpointOf(endpoints, request);
    const { _id } = endpoint;
    const start = startOf(query, asked, cursorKey, _id);
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
function startOf(query: URLSearchParams, asked: Asked, key: string, endpointId: string): Start {
  const { page, limit, since, cursor, outcome = null, event = null } = asked;
  const filters = { sinceMs: since?.getTime() ?? null, outcome, event };
  const begin: Start = { before: undefined, page, limit, ...filters };
  if (cursor === undefined) return begin;
  const opened = openCursor(key, endpointId, cursor);
  const errors: FailureEntry[] = [];
  checkBesideCursor(query, keptOf(begin), opened && keptOf(opened), errors);
  refuseIfAny(errors);
  return opened ?? begin;
}

const keptOf = ({ limit, sinceMs, outcome, event }: Start) => ({ limit, since: sinceMs, outcome, event });

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

/** Never before the given `since`, nor after an attempt that may still be listed. */
export function nextSince(all: readonly LoggedAttempt[], sinceMs: number | null, nowMs: number): Date {
  const settledMs = nowMs - settlingMs;
  const newestMs = all.length === 0 ? settledMs : Math.max(...all.map(({ at }) => Date.parse(at)));
  return new Date(Math.max(sinceMs ?? 0, Math.min(newestMs, settledMs)));
}

const linkTo = (id: string, cursor: string, limit: number): string =>
  `<${basePath}/webhook-events/${id}/deliveries?cursor=${cursor}&limit=${limit}>; rel="next"`;

/** Where a page ended, sealed: a caller can carry it, but neither make nor change one, nor use it for another endpoint. */
export interface Cursor {
  /** Entries before this place in the log come next. */
  before: number;
  page: number;
  limit: number;
  sinceMs: number | null;
  outcome: string | null;
  event: string | null;
}

export function sealCursor(key: string, endpointId: string, cursor: Cursor): string {
  const { before, page, limit, sinceMs, outcome, event } = cursor;
  const sealed: Sealed = [before, page, limit, sinceMs, outcome, event];
  return seal(`cursor ${key}`, endpointId, JSON.stringify(sealed));
}

/** Undefined for a text that webhooks did not issue for this endpoint. */
export function openCursor(key: string, endpointId: string, text: string): Cursor | undefined {
  const content = unseal(`cursor ${key}`, endpointId, text);
  if (content === undefined) return undefined;
  const [before, page, limit, sinceMs, outcome, event]: Sealed = JSON.parse(content);
  return { before, page, limit, sinceMs, outcome, event };
}

type Sealed = [number, number, number, number | null, string | null, string | null];

interface SentOptions {
  attemptLog: Pick<AttemptLog, 'readOf'>;
  bus: Pick<Bus, 'readStream'>;
  log: Log;
}

interface SentEvent {
  /** Oldest first. */
  attempts: readonly StoredAttempt[];
  /** Undefined where the stream has it no longer; a test it never had. */
  event: StreamEvent | undefined;
}

/**
 * Those of the events that the attempt log of the endpoint has, by their ids. It says where the log of event batches has each
 * event as it was sent, a replay included, so that nothing is searched for.
 */
export type FindSent = (
  endpoint: Endpoint,
  eventIds: readonly string[],
  until: number,
) => Promise<Map<string, SentEvent>>;

export function openFindSent({ attemptLog, bus, log }: SentOptions): FindSent {
  return async (endpoint, eventIds, until) => {
    const entries = await attemptLog.readOf(endpoint, new Set(eventIds), until);
    /** By sequence: events that are looked for often stand in one batch. */
    const batches = new Map<number, readonly StreamEvent[]>();
    const eventsAt = async (sequence: number): Promise<readonly StreamEvent[]> => {
      const known = batches.get(sequence);
      if (known !== undefined) return known;
      let events: readonly StreamEvent[] = [];
      const subject = storedBatches(endpoint.integration);
      for await (const stored of bus.readStream(eventBatchesStream, { subject, from: { sequence }, max: 1 }))
        if (stored.sequence === sequence) events = readBatch(stored, log)?.events() ?? [];
      batches.set(sequence, events);
      return events;
    };

    const found = new Map<string, SentEvent>();
    for (const [eventId, attempts] of Map.groupBy(entries, (entry) => entry.eventId)) {
      const point = attempts.findLast((attempt) => attempt.point !== undefined)?.point;
      const event = point === undefined ? undefined : (await eventsAt(point.sequence))[point.index];
      // A stream that was made again has other events there.
      found.set(eventId, { attempts, event: event?.eventId === eventId ? event : undefined });
    }
    return found;
  };
}

export const deliveryHandlers = (
  endpoints: Pick<Endpoints, 'findOf'>,
  findSent: FindSent,
): Record<string, BusHandler> => ({
  [subjects.deliveriesGet]: async (request) => {
    const endpoint = await endpointOf(endpoints, request);
    const eventId = request.headers.get(requestHeaders.eventId) ?? '';
    const sent = (await findSent(endpoint, [eventId], request.deadline)).get(eventId);
    const last = sent?.attempts.at(-1);
    if (sent === undefined || last === undefined)
      throw new Failure('not_found', 'The attempt log of this webhook has no event with this id.');
    const delivery: EventDelivery = {
      eventId,
      event: last.event,
      body: sent.event === undefined ? null : Buffer.from(sent.event.body).toString(),
      attempts: sent.attempts.toReversed().map(shown),
    };
    return json(delivery);
  },
});

const shown = ({ point: _point, ...attempt }: StoredAttempt): EventDelivery['attempts'][number] => ({
  ...attempt,
  responseBody: attempt.responseBody ?? null,
});
