// Sending events of a span of time again: those that the event stream holds, and those that were missed because
// their endpoint was disabled at a moment within the span, though the events themselves are older.
import { randomBytes } from 'node:crypto';
import {
  eventsStream,
  Failure,
  parseInstant,
  quote,
  ReplayEvents,
  subjects,
  type FailureEntry,
} from '@integration-sync/contracts';
import type { Bus, BusHandler } from '@integration-sync/runtime/bus';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { readStreamEvent } from '../fanout/event.ts';
import { isMeantFor } from '../fanout/subscription.ts';
import type { Held } from '../retrying/held.ts';
import {
  deliveriesSubject,
  packParcels,
  readEventHead,
  unpackParcel,
  type Delivery,
  type RawEvent,
} from '../streams/messages.ts';
import { deliveriesStream } from '../streams/streams.ts';
import { accept, bodyExaminer } from './body.ts';
import { endpointOf, json } from './handlers.ts';

export interface ReplayOptions {
  endpoints: Endpoints;
  held: Pick<Held, 'readAll'>;
  bus: Pick<Bus, 'publishBatch' | 'readStream' | 'streamFacts'>;
}

interface Span {
  /** Exclusive, as in listings. The moment of a disabling counts as after itself. */
  since: Date;
  /** Without it there is no end: events bear the times of other machines, which may be ahead of this one's. */
  until: Date | undefined;
}

/** An event is stored after it occurred, by clocks of different machines. */
const clockSkewMs = 60_000;
const batchMax = 1_000;
/** So much before the caller stops waiting, a replay that is too long says so. */
const marginMs = 1_000;

export function replayHandlers({ endpoints, held, bus }: ReplayOptions): Record<string, BusHandler> {
  const examine = bodyExaminer(ReplayEvents);
  return {
    [subjects.endpointsReplay]: async (request) => {
      const examined = examine(request.body);
      const { since, until, events } = accept(examined, wrongTimesIn(examined.given));
      const span = { since: instantOf(since), until: until === undefined ? undefined : instantOf(until) };
      const endpoint = await endpointOf(endpoints, request);
      if (!endpoint.active) {
        throw new Failure('conflict', 'The webhook is disabled; enable it first ({"active": true}).');
      }
      const kinds = endpoint.events.filter((kind) => events?.includes(kind) !== false);
      const wanted = { ...endpoint, events: kinds };
      const queued = await send(wanted, candidatesIn(wanted, span), request.deadline - marginMs);
      return { ...json({ queued }, 202), logFields: { queued } };
    },
  };

  /** Everything is stored by the time it is counted: what was answered will be sent. */
  async function send(
    endpoint: Endpoint,
    candidates: AsyncIterable<RawEvent | undefined>,
    until: number,
  ): Promise<number> {
    const sending = randomBytes(8).toString('hex');
    const { _id: endpointId, integration, epoch, version } = endpoint;
    const to = [{ endpointId, epoch, version }];
    const seen = new Set<string>();
    let published = 0;
    let some: RawEvent[] = [];
    const publish = async (): Promise<void> => {
      if (some.length === 0) return;
      await bus.publishBatch([...packParcels({ integration, sending, to, events: some }, 'backlog')]);
      published += some.length;
      some = [];
    };
    for await (const candidate of candidates) {
      if (Date.now() > until) throw tooLong(published);
      if (candidate === undefined) continue;
      const { eventId, body } = candidate;
      const occurred = readStreamEvent({ id: eventId, sequence: 0, body });
      if (occurred === undefined || !isMeantFor(endpoint, occurred) || seen.has(eventId)) continue;
      seen.add(eventId);
      some.push(occurred);
      if (some.length >= batchMax) await publish();
    }
    await publish();
    return published;
  }

  /** Undefined for each that was looked at in vain, so that the caller of this generator can look at the time. */
  async function* candidatesIn(endpoint: Endpoint, span: Span): AsyncGenerator<RawEvent | undefined> {
    for (const { epoch, at } of endpoint.disablings) {
      if (at >= span.since && !isAfter(at, span.until)) yield* missedIn(endpoint, epoch, at);
    }
    yield* occurredIn(endpoint.integration, span);
  }

  /**
   * What was open when the epoch ended. What is not yet set aside is still in the stream of deliveries, so that is read
   * first; a replay takes the way of what can wait. An event that occurred after the end may have got among them, and is
   * an event of its own time.
   */
  async function* missedIn(
    endpoint: Pick<Endpoint, '_id' | 'integration'>,
    epoch: number,
    endedAt: Date,
  ): AsyncGenerator<RawEvent | undefined> {
    for await (const delivery of setAsideIn(endpoint, epoch)) {
      const head = delivery === undefined ? undefined : readEventHead(delivery.body);
      const occurredAfter = head !== undefined && Date.parse(head.timestamp) > endedAt.getTime();
      yield occurredAfter ? undefined : delivery;
    }
  }

  async function* setAsideIn(
    { _id: endpointId, integration }: Pick<Endpoint, '_id' | 'integration'>,
    epoch: number,
  ): AsyncGenerator<Delivery | undefined> {
    for (const way of ['shared', 'backlog'] as const) {
      const reading = { subject: deliveriesSubject(integration, way), from: { sequence: 1 }, exact: true };
      for await (const message of bus.readStream(deliveriesStream, reading)) {
        for (const delivery of unpackParcel(message)) {
          yield delivery.endpointId === endpointId && delivery.epoch === epoch ? delivery : undefined;
        }
      }
    }
    for await (const { delivery } of held.readAll(endpointId, epoch)) yield delivery;
  }

  async function* occurredIn(
    integration: string,
    { since, until }: Span,
  ): AsyncGenerator<RawEvent | undefined> {
    const { lastSequence } = await bus.streamFacts(eventsStream);
    const reading = {
      subject: `events.${integration}.>`,
      from: { time: new Date(since.getTime() - clockSkewMs) },
      exact: true,
    };
    for await (const stored of bus.readStream(eventsStream, reading)) {
      if (stored.sequence > lastSequence) return;
      const occurred = readStreamEvent(stored);
      const at = Date.parse(occurred?.timestamp ?? '');
      yield at > since.getTime() && !isAfter(new Date(at), until) ? occurred : undefined;
    }
  }
}

const isAfter = (at: Date, until: Date | undefined): boolean => until !== undefined && at > until;

/** What is wrong with them besides their types. */
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
    `There are too many events in this span for one replay; ${sent} of them will be sent. Narrow it by since and until.`,
  );
