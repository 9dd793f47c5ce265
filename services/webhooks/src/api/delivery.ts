// One event at one endpoint: what was sent, what was answered. The attempt log says where the log of event batches has each
// event as it was sent, a replay included, so that nothing is searched for.
import {
  eventBatchesStream,
  Failure,
  requestHeaders,
  storedBatches,
  subjects,
  type EventDelivery,
} from '@integration-sync/contracts';
import type { Bus, BusHandler } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { StoredAttempt } from '../delivering/attempt-log-writer.ts';
import type { AttemptLog } from '../delivering/attempt-log.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { readBatch } from '../log/batch.ts';
import type { StreamEvent } from '../log/event.ts';
import { endpointOf, json } from './handlers.ts';

export interface SentOptions {
  attemptLog: Pick<AttemptLog, 'readOf'>;
  bus: Pick<Bus, 'readStream'>;
  log: Log;
}

export interface SentEvent {
  /** Oldest first. */
  attempts: readonly StoredAttempt[];
  /** Undefined where the stream has it no longer; a test it never had. */
  event: StreamEvent | undefined;
}

/** Those of the events that the attempt log of the endpoint has, by their ids. */
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
