// The events that a replay may send again: those that the event stream holds of a span of time, and those that were open
// when the endpoint was disabled at a moment within the span, though the events themselves are older.
import { eventsStream } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { mayHold, readStreamEvent } from '../fanout/event.ts';
import type { Held } from '../retrying/held.ts';
import { readEventHead, unpackParcel, type Delivery, type RawEvent } from '../streams/messages.ts';
import { deliveriesStream } from '../streams/streams.ts';
import { storedDeliveries } from '../streams/subjects.ts';

export interface CandidatesOptions {
  held: Pick<Held, 'readAll'>;
  bus: Pick<Bus, 'readStream' | 'streamFacts'>;
}

export interface Span {
  /** Exclusive, as in listings. The moment of a disabling counts as after itself. */
  since: Date;
  /** Without it there is no end: events bear the times of other machines, which may be ahead of this one's. */
  until: Date | undefined;
}

/** Undefined for each event that did not match, so that the caller of this generator can look at the time. */
export type Candidates = (endpoint: Endpoint, span: Span) => AsyncGenerator<RawEvent | undefined>;

/** An event is stored after it occurred, by clocks of different machines. */
const clockSkewMs = 60_000;

export function openCandidates({ held, bus }: CandidatesOptions): Candidates {
  return candidatesIn;

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
    for (const subject of storedDeliveries(integration)) {
      const reading = { subject, from: { sequence: 1 }, exact: true };
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
      const read = readStreamEvent(stored);
      const occurred = read !== undefined && mayHold(stored.subject)(read.event) ? read : undefined;
      const at = Date.parse(occurred?.timestamp ?? '');
      yield at > since.getTime() && !isAfter(new Date(at), until) ? occurred : undefined;
    }
  }
}

const isAfter = (at: Date, until: Date | undefined): boolean => until !== undefined && at > until;
