// The events that a replay may send again: those that the event stream holds of a span of time, and those that were
// undelivered when the endpoint was disabled at a moment within the span, though the events themselves are older.
import { setTimeout as wait } from 'node:timers/promises';
import { eventBatchesStream, eventsStream, partitionOf, storedBatches } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Endpoint, Missed } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { readBatch } from '../log/batch.ts';
import type { Candidate } from '../log/resend.ts';
import { mayHold, readStreamEvent, type StreamEvent } from '../log/event.ts';
import { isMeantFor, isMissed } from '../matching/subscription.ts';
import type { Claims } from '../owning/claims.ts';
import type { Offsets } from '../owning/offsets.ts';

export interface CandidatesOptions {
  bus: Pick<Bus, 'readStream' | 'streamFacts'>;
  endpoints: Pick<Endpoints, 'find' | 'recordMissed'>;
  claims: Pick<Claims, 'floorOf'>;
  offsets: Pick<Offsets, 'of'>;
  stream: () => { id: string };
  log: Log;
}

export interface Span {
  /** Exclusive, as in listings. The moment of a disabling counts as after itself. */
  since: Date;
  /** Without it there is no end: events bear the times of other machines, which may be ahead of this one's. */
  until: Date | undefined;
}

/** Undefined for each event that did not match, so that the caller of this generator can look at the time. */
export type Candidates = (endpoint: Endpoint, span: Span) => AsyncGenerator<StreamEvent | undefined>;

/** An event is stored after it occurred, by clocks of different machines. */
const clockSkewMs = 60_000;
/** The owner says at once what an endpoint missed, and a new owner soon. */
const ownerMs = 4_000;
const ownerPollMs = 50;

export function openCandidates(options: CandidatesOptions): Candidates {
  const { bus, endpoints, claims, offsets, stream, log } = options;
  return candidatesIn;

  async function* candidatesIn(endpoint: Endpoint, span: Span): AsyncGenerator<StreamEvent | undefined> {
    for (const { epoch, at } of endpoint.disablings) {
      if (at >= span.since && !isAfter(at, span.until)) yield* missedIn(endpoint, epoch, at);
    }
    yield* occurredIn(endpoint.integration, span);
  }

  async function* missedIn(
    endpoint: Endpoint,
    epoch: number,
    endedAt: Date,
  ): AsyncGenerator<StreamEvent | undefined> {
    const missed = await missedOf(endpoint, epoch);
    if (missed === undefined || missed.stream !== stream().id) return;
    const first = Math.min(missed.sequence, ...missed.open.map(({ sequence }) => sequence));
    const reading = { subject: storedBatches(endpoint.integration), from: { sequence: first }, exact: true };
    for await (const stored of bus.readStream(eventBatchesStream, reading)) {
      const batch = readBatch(stored, log);
      if (batch === undefined) continue;
      const { sequence, endpointId } = batch;
      for (const [index, event] of batch.events().entries()) {
        const wasAhead =
          sequence > missed.sequence || (sequence === missed.sequence && index >= missed.index);
        const wasOpen = missed.open.some((one) => one.sequence === sequence && one.index === index);
        const isIts =
          endpointId === undefined
            ? isMissed(endpoint, event, endedAt)
            : endpointId === endpoint._id && stored.storedAt <= endedAt;
        yield (wasAhead || wasOpen) && isIts ? event : undefined;
      }
    }
  }

  /** Undefined where a release before disabled it, which said otherwise what was missed. */
  async function missedOf({ _id, integration }: Endpoint, epoch: number): Promise<Missed | undefined> {
    for (const endMs = Date.now() + ownerMs; ; await wait(ownerPollMs)) {
      const missed = (await endpoints.find(_id))?.missed?.[epoch];
      if (missed !== null) return missed;
      if (Date.now() > endMs) break;
    }
    // No replica owns it: then what is stored says it.
    const offset = (await offsets.of(integration)).get(_id);
    const floor = (await claims.floorOf(partitionOf(integration))) + 1;
    const { sequence, index, open } =
      offset?.epoch === epoch ? offset : { sequence: floor, index: 0, open: [] };
    const missed = { sequence, index, open, stream: stream().id };
    await endpoints.recordMissed(_id, epoch, missed);
    return missed;
  }

  async function* occurredIn(
    integration: string,
    { since, until }: Span,
  ): AsyncGenerator<StreamEvent | undefined> {
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

/** Of the candidates those that the endpoint subscribes to. */
export async function* meantFor(
  endpoint: Endpoint,
  candidates: AsyncIterable<Candidate>,
): AsyncGenerator<Candidate> {
  for await (const event of candidates)
    yield event !== undefined && isMeantFor(endpoint, event) ? event : undefined;
}

const isAfter = (at: Date, until: Date | undefined): boolean => until !== undefined && at > until;
