// Sends events again: the events of a span of time (replay-candidates.ts), or events of the attempt log by their ids.
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  Failure,
  type FailureEntry,
  parseInstant,
  quote,
  refuseIfAny,
  ReplayEvents,
  subjects,
} from '@integration-sync/contracts';
import { refuseGivenUp, type Bus, type BusHandler, type BusRequest } from '@integration-sync/runtime/bus';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { StreamEvent } from '../log/logged-batch.ts';
import { type TakeCutoff, unknownPushes } from '../matching/cutoff.ts';
import type { FindSent } from './attempt-listing.ts';
import { accept, bodyExaminer, type Examined } from './request-body.ts';
import { endpointOf, json, refuseDisabled } from './handlers.ts';
import type { ReplayBounds } from './replay-bounds.ts';
import { type Candidates, meantFor, openResend } from './replay-candidates.ts';

/** A replay that takes too long ends with an error this long before its caller stops waiting. */
const marginMs = 1_000;
/** How long a replay waits for the announcement of pushes that were under way when the endpoint was enabled. */
const announcedMs = 4_000;
const announcedPollMs = 100;
const retryAfterSeconds = 5;
/** An attempt is in the attempt log this long after its end for certain, even if the NATS connection of the owner is slow. */
const unloggedMs = 1_000;

/** How many replays a replica carries out at a time: each reads the streams from the begin of its span on. */
const replayLimits = { max: 16, perKeyMax: 4 };

interface ReplayOptions {
  endpoints: Pick<Endpoints, 'findOf'>;
  bus: Pick<Bus, 'publishBatch'>;
  candidatesIn: Candidates;
  findSent: FindSent;
  takeCutoff: TakeCutoff;
  bounds: Pick<ReplayBounds, 'run'>;
}

export function replayHandlers(options: ReplayOptions): Record<string, BusHandler> {
  const { endpoints, bus, candidatesIn, findSent, takeCutoff, bounds } = options;
  const resend = openResend(bus);
  const inTurn = openSemaphore(replayLimits).run;
  const examine = bodyExaminer(ReplayEvents);
  return {
    [subjects.endpointsReplay]: async (request) => {
      const examined = examine(request);
      const given = accept(examined, wrongIn(examined));
      const queued = await inTurn(() => replay(request, given), request.integration);
      return { ...json({ queued }), logFields: { queued } };
    },
  };

  async function replay(request: BusRequest, given: ReplayEvents): Promise<number> {
    if (performance.now() > request.deadline - marginMs)
      throw new Failure('unavailable', 'Too many replays are under way.', { retryAfterSeconds });
    const endpoint = await endpointOf(endpoints, request);
    refuseDisabled(endpoint);
    if (given.eventIds === undefined) await untilAnnounced(endpoint, request);
    const { eventIds } = given;
    const events =
      eventIds === undefined ? spanOf(endpoint, given) : await sentOf(endpoint, eventIds, request);
    await refuseGivenUp(request);
    const queued = await bounds.run(endpoint, request, (admit) =>
      resend(events, { ...resending(endpoint, request), admit }),
    );
    // Events that were stored after a disabling are neither sent nor missed.
    if ((await endpointOf(endpoints, request)).epoch !== endpoint.epoch) throw disabledMeanwhile();
    return queued;
  }

  /**
   * Waits until pushes that were under way when the endpoint was enabled are announced: the endpoint gets their events only by a
   * replay, and a replay finds an event only once the event is in the log. A push of a dead replica is announced 15 s later. If a
   * service did not say which pushes were under way, the replay waits for those that are under way now.
   */
  async function untilAnnounced({ eventsUnderWay = [] }: Endpoint, request: BusRequest): Promise<void> {
    const endMs = Math.min(performance.now() + announcedMs, request.deadline - marginMs);
    let awaited = eventsUnderWay;
    while (awaited.length > 0) {
      const { underWay } = await takeCutoff(request);
      if (awaited.includes(unknownPushes) && !underWay.includes(unknownPushes)) awaited = underWay;
      if (!awaited.some((origin) => underWay.includes(origin))) return;
      if (performance.now() > endMs) throw stillAnnouncing();
      await wait(announcedPollMs);
    }
  }

  function spanOf(endpoint: Endpoint, { since = '', until, events }: ReplayEvents) {
    const span = { since: instantOf(since), until: until === undefined ? undefined : instantOf(until) };
    const kinds = endpoint.events.filter((kind) => events?.includes(kind) !== false);
    const wanted = { ...endpoint, events: kinds };
    return meantFor(wanted, candidatesIn(wanted, span));
  }

  /** The events with these ids. Throws if the attempt log lacks one of them also when it is read a second time. */
  async function sentOf(
    endpoint: Endpoint,
    eventIds: readonly string[],
    { deadline }: BusRequest,
  ): Promise<StreamEvent[]> {
    let found = await findSent(endpoint, eventIds, deadline);
    if (eventIds.some((eventId) => !found.has(eventId))) {
      await wait(unloggedMs);
      found = await findSent(endpoint, eventIds, deadline);
    }
    const events = eventIds.map((eventId) => found.get(eventId)?.event);
    const expected = 'events of the attempt log that the stream still has';
    refuseIfAny(
      eventIds.flatMap((id, index) =>
        events[index] === undefined ? [wrongId(index, `${expected}, got ${JSON.stringify(id)}`)] : [],
      ),
    );
    return events.filter((event) => event !== undefined);
  }
}

const resending = (endpoint: Endpoint, { deadline, traceparent }: BusRequest) => ({
  endpoint,
  sending: randomBytes(8).toString('hex'),
  traceparent,
  goOn(stored: number) {
    if (performance.now() > deadline - marginMs) throw tooLong(stored);
  },
});

const wrongId = (index: number, expected: string): FailureEntry => ({
  pointer: `/eventIds/${index}`,
  detail: `eventIds: expected ${expected}`,
});

function wrongIn({ given, value }: Examined<ReplayEvents>): FailureEntry[] {
  if (!('eventIds' in given))
    return 'since' in given ? wrongTimesIn(given) : [{ pointer: '/since', detail: 'since is required' }];
  const besides = ['since', 'until', 'events'].filter((name) => name in given);
  const ids = value?.eventIds ?? [];
  return [
    ...besides.map((name) => ({ pointer: `/${name}`, detail: `${name}: expected none beside eventIds` })),
    ...ids.flatMap((id, index) =>
      ids.indexOf(id) === index ? [] : [wrongId(index, `each id once, got ${JSON.stringify(id)} again`)],
    ),
  ];
}

function wrongTimesIn({ since, until }: Partial<Record<keyof ReplayEvents, unknown>>): FailureEntry[] {
  const errors: FailureEntry[] = [];
  const readOne = (name: string, text: unknown): Date | undefined => {
    if (typeof text !== 'string') return undefined;
    const instant = parseInstant(text);
    if (instant !== undefined) return instant;
    const detail = `${name}: expected a day such as 2026-03-31 or a date-time with Z or an offset, got ${quote(text)}`;
    errors.push({ pointer: `/${name}`, detail });
    return undefined;
  };
  const [from, to] = [readOne('since', since), readOne('until', until)];
  if (from !== undefined && to !== undefined && to < from) {
    errors.push({ pointer: '/until', detail: 'until: expected a time after since' });
  }
  return errors;
}

const instantOf = (text: string): Date => parseInstant(text) ?? new Date(Number.NaN);

const tooLong = (sent: number): Failure =>
  new Failure(
    'timeout',
    `There are too many events in this span for one replay; ${sent} of them will be sent. Narrow the span by since and until.`,
  );

const disabledMeanwhile = (): Failure =>
  new Failure('conflict', 'The webhook was disabled during the replay; enable it, and replay again.');

const stillAnnouncing = (): Failure =>
  new Failure('unavailable', 'Some pushes from before the webhook was enabled are still being announced.', {
    retryAfterSeconds,
  });
