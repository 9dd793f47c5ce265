// The attempt log as a listing: newest first, filtered, by page or by cursor. The log of an endpoint is short, so each request
// reads all of it. A request of another kind reads the attempts and the body of a single event.
import {
  basePath,
  checkBesideCursor,
  type DeliveryAttempt,
  eventBatchesStream,
  type EventDelivery,
  eventKinds,
  Failure,
  queryErrorsOf,
  readListingQuery,
  readOneOf,
  refuseIfAny,
  requestHeaders,
  storedBatches,
  subjects,
  testKind,
} from '@integration-sync/contracts';
import { queryOf, type Bus, type BusHandler, type BusRequest } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openSealer } from '@integration-sync/runtime/seal';
import type { AttemptLog, LoggedAttempt, StoredAttempt } from '../delivering/attempt-log.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import { readBatch, type StreamEvent } from '../log/logged-batch.ts';
import { endpointIdOf, endpointOf, json } from './handlers.ts';

/** An attempt is listed at most this long after its begin. Attempts are listed once they have ended, ordered by their begin. */
const settlingMs = 12_000;

export const attemptsHandlers = (
  endpoints: Endpoints,
  attemptLog: Pick<AttemptLog, 'read'>,
  findSent: FindSent,
  cursorKey: string,
): Record<string, BusHandler> => ({
  [subjects.deliveriesList]: async (request) => {
    const start = readStart(request, cursorKey);
    const endpoint = await endpointOf(endpoints, request);
    const { _id } = endpoint;
    const { page, limit } = start;
    const all = (await attemptLog.read(endpoint, request.deadline)).toReversed();
    const { entities, total, next } = listAttempts(all, start);
    return {
      body: JSON.stringify({ entities, total, page, limit }),
      headers: {
        'x-next-since': nextSince(all, start.sinceMs, Date.now()).toISOString(),
        ...(next === undefined ? {} : { link: linkTo(_id, sealCursor(cursorKey, _id, next), limit) }),
      },
    };
  },
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
      attempts: sent.attempts
        .toReversed()
        .map(({ point: _point, ...attempt }) => Object.assign({ responseBody: null }, attempt)),
    };
    return json(delivery);
  },
});

/** Where a page of attempts begins, and its filters. A cursor contains all filters of the first request. */
export interface Start {
  /** The page begins with the newest entry before this ordinal; if undefined, `page` says where the page begins. */
  before: number | undefined;
  page: number;
  limit: number;
  sinceMs: number | null;
  outcome: string | null;
  event: string | null;
}

function readStart(request: BusRequest, key: string): Start {
  const query = queryOf(request);
  const errors = queryErrorsOf(request);
  const { page, limit, since, cursor } = readListingQuery(query, errors);
  const outcome = readOneOf(query, 'outcome', ['succeeded', 'failed'], errors) ?? null;
  const event = readOneOf(query, 'event', [...eventKinds, testKind], errors) ?? null;
  const sinceMs = since?.getTime() ?? null;
  const begin: Start = { before: undefined, page, limit, sinceMs, outcome, event };
  const opened = cursor === undefined ? undefined : openCursor(key, endpointIdOf(request), cursor);
  if (cursor !== undefined) checkBesideCursor(query, keptOf(begin), opened && keptOf(opened), errors);
  refuseIfAny(errors);
  return opened ?? begin;
}

const keptOf = ({ limit, sinceMs, outcome, event }: Start) => ({ limit, since: sinceMs, outcome, event });

export function listAttempts(all: readonly LoggedAttempt[], start: Start) {
  const { before, page, limit, sinceMs, outcome, event } = start;
  const matching = all.filter(
    (entry) =>
      (sinceMs === null || Date.parse(entry.at) > sinceMs) &&
      (outcome === null || entry.outcome === outcome) &&
      (event === null || entry.event === event),
  );
  const from =
    before === undefined ? (page - 1) * limit : matching.filter(({ ordinal }) => ordinal >= before).length;
  const shown = matching.slice(from, from + limit);
  const last = shown.at(-1);
  const hasMore = last !== undefined && from + shown.length < matching.length;
  return {
    entities: shown.map(({ ordinal: _ordinal, ...entry }): DeliveryAttempt => entry),
    total: matching.length,
    next: hasMore ? { ...start, before: last.ordinal, page: page + 1 } : undefined,
  };
}

/** The `since` for the caller's next request: not before that of this request, nor after the begin of an attempt in flight. */
export function nextSince(all: readonly LoggedAttempt[], sinceMs: number | null, nowMs: number): Date {
  const settledMs = nowMs - settlingMs;
  const newestMs = all.length === 0 ? settledMs : Math.max(...all.map(({ at }) => Date.parse(at)));
  return new Date(Math.max(sinceMs ?? 0, Math.min(newestMs, settledMs)));
}

const linkTo = (id: string, cursor: string, limit: number): string =>
  `<${basePath}/webhook-events/${id}/deliveries?cursor=${cursor}&limit=${limit}>; rel="next"`;

const partsOf = ({ before, page, limit, sinceMs, outcome, event }: Start) =>
  [before, page, limit, sinceMs, outcome, event] as const;

const cursors = (key: string) => openSealer<ReturnType<typeof partsOf>>(`cursor ${key}`);

/** Seals a cursor: a caller can neither make nor change a cursor, nor use it for another endpoint. */
export const sealCursor = (key: string, endpointId: string, start: Start): string =>
  cursors(key).seal(endpointId, partsOf(start));

/** Reads a cursor. Undefined for a text that webhooks did not issue as a cursor for this endpoint. */
export function openCursor(key: string, endpointId: string, text: string): Start | undefined {
  const sealed = cursors(key).unseal(endpointId, text);
  if (sealed === undefined) return undefined;
  const [before, page, limit, sinceMs, outcome, event] = sealed;
  return { before, page, limit, sinceMs, outcome, event };
}

interface SentEvent {
  attempts: readonly StoredAttempt[];
  /** The event that was sent. Undefined for a test, and if the log of event batches has dropped the event. */
  event: StreamEvent | undefined;
}

export type FindSent = ReturnType<typeof openFindSent>;

/** Finds events by their ids in the attempt log of the endpoint, whose entries name the points of events in EVENT_BATCHES. */
export const openFindSent =
  (attemptLog: Pick<AttemptLog, 'readOf'>, bus: Pick<Bus, 'readStream'>, log: Log) =>
  async (endpoint: Endpoint, eventIds: readonly string[], until: number): Promise<Map<string, SentEvent>> => {
    const entries = await attemptLog.readOf(endpoint, new Set(eventIds), until);
    /** The batches by sequence. Each batch is read once, because it often has several of the wanted events. */
    const batches = new Map<number, Promise<readonly StreamEvent[]>>();
    const eventsAt = async (sequence: number): Promise<readonly StreamEvent[]> => {
      const subject = storedBatches(endpoint.integration);
      for await (const stored of bus.readStream(eventBatchesStream, { subject, from: { sequence }, max: 1 }))
        if (stored.sequence === sequence) return readBatch(stored, log)?.events() ?? [];
      return [];
    };

    const found = new Map<string, SentEvent>();
    for (const [eventId, attempts] of Map.groupBy(entries, (entry) => entry.eventId)) {
      const point = attempts.findLast((attempt) => attempt.point !== undefined)?.point;
      const batch = point && (await batches.getOrInsertComputed(point.sequence, eventsAt));
      const event = point && batch?.[point.index];
      // Only an event with the same id is used: a log that was created again has another event at this point.
      found.set(eventId, { attempts, event: event?.eventId === eventId ? event : undefined });
    }
    return found;
  };
