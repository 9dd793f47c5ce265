// The events that a replay of a span of time may send again. EVENTS has the events that occurred within the span. Events that
// a disabling within the span left undelivered may be older.
import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type BatchedEvent,
  eventBatchesStream,
  eventsStream,
  packAddressedBatches,
  requestHeaders,
  storedBatches,
} from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Endpoint, Missed } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import {
  clockMarginMs,
  clockSkewMs,
  readBatch,
  readStreamEvent,
  type StreamEvent,
} from '../log/logged-batch.ts';
import { mayHold } from '../log/refused-kinds.ts';
import { isBefore, isSame } from '../log/offsets.ts';
import { createdAtOf, type LogStream } from '../log/stream.ts';
import { isMeantFor, isMissed } from '../matching/match.ts';
import { storedOffsetOf, type StoredProgress } from './replay-bounds.ts';

/** An event to send. Undefined stands for an event that is left out, so that the consumer can check its deadline meanwhile. */
type Candidate = StreamEvent | undefined;

interface Span {
  /** The begin of the span: exclusive for events, as in listings; inclusive for disablings. */
  since: Date;
  /** Undefined for no end, instead of now, because the time of an event may be ahead of this machine's clock. */
  until: Date | undefined;
}

export type Candidates = ReturnType<typeof openCandidates>;

const ownerMs = 4_000;
const ownerPollMs = 50;

interface CandidatesOptions extends StoredProgress {
  bus: Pick<Bus, 'readStream' | 'streamFacts'>;
  endpoints: Pick<Endpoints, 'find' | 'recordMissed'>;
  stream: Pick<LogStream, 'facts'>;
  log: Log;
}

export function openCandidates({ bus, endpoints, stream, log, ...progress }: CandidatesOptions) {
  return candidatesIn;

  async function* candidatesIn(endpoint: Endpoint, span: Span): AsyncGenerator<Candidate> {
    for (const { epoch, at } of endpoint.disablings) {
      if (at >= span.since && !isAfter(at, span.until)) yield* missedIn(endpoint, epoch, at);
    }
    yield* occurredIn(endpoint.integration, span);
  }

  async function* missedIn(endpoint: Endpoint, epoch: number, endedAt: Date): AsyncGenerator<Candidate> {
    const missed = await missedOf(endpoint, epoch);
    if (missed === undefined || createdAtOf(missed.stream) !== stream.facts.createdAt) return;
    const first = Math.min(missed.sequence, ...missed.open.map(({ sequence }) => sequence));
    const reading = { subject: storedBatches(endpoint.integration), from: { sequence: first }, exact: true };
    for await (const stored of bus.readStream(eventBatchesStream, reading)) {
      const batch = readBatch(stored, log);
      if (batch === undefined) continue;
      const { sequence, endpointId } = batch;
      for (const [index, event] of batch.events().entries()) {
        const point = { sequence, index };
        const wasUndelivered = !isBefore(point, missed) || missed.open.some((one) => isSame(one, point));
        const isIts =
          endpointId === undefined
            ? isMissed(endpoint, event, endedAt)
            : endpointId === endpoint._id && stored.storedAt.getTime() < endedAt.getTime() + clockMarginMs;
        yield wasUndelivered && isIts ? event : undefined;
      }
    }
  }

  /** The events that the endpoint missed when an epoch ended. Undefined if an old release disabled the endpoint. */
  async function missedOf({ _id, integration }: Endpoint, epoch: number): Promise<Missed | undefined> {
    const told = async () => (await endpoints.find(_id))?.missed?.[epoch];
    for (const endMs = performance.now() + ownerMs; ; await wait(ownerPollMs)) {
      const missed = await told();
      if (missed !== null) return missed;
      if (performance.now() > endMs) break;
    }
    // No owner has stored the missed events in time: this replica finds and stores them by the offset in MongoDB.
    const { sequence, index, open } = await storedOffsetOf(progress, { _id, integration, epoch });
    // An owner that has stored the missed events meanwhile has removed the offset, so its missed events are used.
    const toldLate = await told();
    if (toldLate) return toldLate;
    const missed = { sequence, index, open, stream: stream.facts.id, term: 0 };
    await endpoints.recordMissed(_id, epoch, missed);
    return missed;
  }

  async function* occurredIn(integration: string, { since, until }: Span): AsyncGenerator<Candidate> {
    const { lastSequence } = await bus.streamFacts(eventsStream);
    const from = { time: new Date(since.getTime() - clockSkewMs) };
    const reading = { subject: `events.${integration}.>`, from, exact: true };
    for await (const stored of bus.readStream(eventsStream, reading)) {
      if (stored.sequence > lastSequence) return;
      const read = readStreamEvent(stored);
      const occurred = read !== undefined && mayHold(stored.subject)(read.event) ? read : undefined;
      const at = Date.parse(occurred?.timestamp ?? '');
      yield at > since.getTime() && !isAfter(new Date(at), until) ? occurred : undefined;
    }
  }
}

/** Of the candidate events, those that the endpoint subscribes to, up to the sequence `through` in EVENTS. */
export async function* meantFor(
  endpoint: Endpoint,
  candidates: AsyncIterable<Candidate>,
  through = Infinity,
): AsyncGenerator<Candidate> {
  for await (const event of candidates)
    yield event !== undefined && event.sequence <= through && isMeantFor(endpoint, event) ? event : undefined;
}

const isAfter = (at: Date, until: Date | undefined): boolean => until !== undefined && at > until;

interface ResendOptions {
  endpoint: Pick<Endpoint, '_id' | 'integration'>;
  /** The id of the replay or recovery. The stream drops events that are published again with this id within five minutes. */
  sending: string;
  traceparent?: string | undefined;
  /** Called with the number of stored events; throws to stop the storing of further events. */
  goOn: (stored: number) => void;
  /** Called with a number of bytes before batches of that size are stored. Rejects to prevent that the batches are stored. */
  admit?: (bytes: number, stored: number) => Promise<void>;
}

const eventsAtOnce = 1_000;

/**
 * Sends events to one endpoint again, by publishing addressed batches to the log, which other endpoints pass over. Events are
 * counted once their batch is stored, so each counted event will be sent.
 */
export const openResend =
  (bus: Pick<Bus, 'publishBatch'>) =>
  async (
    candidates: AsyncIterable<Candidate> | Iterable<Candidate>,
    { endpoint, sending, traceparent, goOn, admit }: ResendOptions,
  ): Promise<number> => {
    const { _id: endpointId, integration } = endpoint;
    const headers = traceparent === undefined ? {} : { [requestHeaders.traceparent]: traceparent };
    const seen = new Set<string>();
    let stored = 0;
    let some: BatchedEvent[] = [];
    const store = async (): Promise<void> => {
      if (some.length === 0) return;
      const events = hash('sha256', some.map(({ id }) => id).join(' '));
      const address = { endpointId, integration, sending: `${sending}.${events}` };
      const batches = packAddressedBatches(address, some);
      const bytes = batches.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
      await admit?.(bytes, stored);
      await bus.publishBatch(batches, headers);
      stored += some.length;
      some = [];
    };
    for await (const candidate of candidates) {
      goOn(stored);
      if (candidate === undefined || seen.has(candidate.eventId)) continue;
      seen.add(candidate.eventId);
      some.push({ id: candidate.eventId, body: Buffer.from(candidate.body).toString() });
      if (some.length >= eventsAtOnce) await store();
    }
    await store();
    return stored;
  };
