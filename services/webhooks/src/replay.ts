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
import { bodyReader, invalidRequest } from './body.ts';
import type { Endpoint } from './endpoint.ts';
import type { Endpoints } from './endpoints.ts';
import { deliveriesSubject, packParcels, unpackParcel, type Occurrence } from './envelope.ts';
import type { Held } from './held.ts';
import { endpointOf, json } from './management.ts';
import { deliveriesStream } from './streams.ts';
import { readOccurred } from './occurrence.ts';
import { isMeantFor } from './subscription.ts';

export interface ReplayOptions {
  endpoints: Endpoints;
  held: Pick<Held, 'readAll'>;
  bus: Pick<Bus, 'publishBatch' | 'readStream' | 'streamFacts'>;
}

interface Span {
  /** Exclusive, as in listings. The moment of a disabling counts as after itself. */
  since: Date;
  until: Date;
}

/** An event is stored after it occurred, by clocks of different machines. */
const clockSkewMs = 60_000;
const batchMax = 1_000;
/** So much before the caller stops waiting, a replay that is too long says so. */
const marginMs = 1_000;

export function replayHandlers({ endpoints, held, bus }: ReplayOptions): Record<string, BusHandler> {
  const read = bodyReader(ReplayEvents);
  return {
    [subjects.endpointsReplay]: async (request) => {
      const { since, until, events } = read(request.body);
      const span = readSpan(since, until);
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
    candidates: AsyncIterable<Occurrence | undefined>,
    until: number,
  ): Promise<number> {
    const sending = randomBytes(8).toString('hex');
    const { _id: endpointId, integration, epoch, version } = endpoint;
    const to = [{ endpointId, epoch, version }];
    const seen = new Set<string>();
    let published = 0;
    let some: Occurrence[] = [];
    const publish = async (): Promise<void> => {
      if (some.length === 0) return;
      await bus.publishBatch([...packParcels({ integration, sending, to, events: some })]);
      published += some.length;
      some = [];
    };
    for await (const candidate of candidates) {
      if (Date.now() > until) throw tooLong(published);
      if (candidate === undefined) continue;
      const { eventId, body } = candidate;
      const occurred = readOccurred({ id: eventId, sequence: 0, body });
      if (occurred === undefined || !isMeantFor(endpoint, occurred) || seen.has(eventId)) continue;
      seen.add(eventId);
      some.push(occurred);
      if (some.length >= batchMax) await publish();
    }
    await publish();
    return published;
  }

  /** Undefined for each that was looked at in vain, so that whoever asks for them can look at the time. */
  async function* candidatesIn(endpoint: Endpoint, span: Span): AsyncGenerator<Occurrence | undefined> {
    for (const { epoch, at } of endpoint.disablings) {
      if (at >= span.since && at <= span.until) yield* missedIn(endpoint, epoch);
    }
    yield* occurredIn(endpoint.integration, span);
  }

  /** What is not yet set aside is still in the stream of deliveries, so that is read first. */
  async function* missedIn(
    { _id: endpointId, integration }: Endpoint,
    epoch: number,
  ): AsyncGenerator<Occurrence | undefined> {
    const reading = { subject: deliveriesSubject(integration), from: { sequence: 1 } };
    for await (const message of bus.readStream(deliveriesStream, reading)) {
      for (const delivery of unpackParcel(message)) {
        yield delivery.endpointId === endpointId && delivery.epoch === epoch ? delivery : undefined;
      }
    }
    for await (const { delivery } of held.readAll(endpointId, epoch)) yield delivery;
  }

  async function* occurredIn(
    integration: string,
    { since, until }: Span,
  ): AsyncGenerator<Occurrence | undefined> {
    const { lastSequence } = await bus.streamFacts(eventsStream);
    const reading = {
      subject: `events.${integration}.>`,
      from: { time: new Date(since.getTime() - clockSkewMs) },
    };
    for await (const stored of bus.readStream(eventsStream, reading)) {
      if (stored.sequence > lastSequence) return;
      const occurred = readOccurred(stored);
      const at = Date.parse(occurred?.timestamp ?? '');
      yield at > since.getTime() && at <= until.getTime() ? occurred : undefined;
    }
  }
}

function readSpan(since: string, until: string | undefined): Span {
  const errors: FailureEntry[] = [];
  const readOne = (name: string, text: string): Date => {
    const instant = parseInstant(text);
    if (instant !== undefined) return instant;
    const detail = `${name}: expected a day such as 2026-03-31 or a date-time with Z or an offset, got ${quote(text)}`;
    errors.push({ pointer: `/${name}`, detail });
    return new Date(Number.NaN);
  };
  const span = {
    since: readOne('since', since),
    until: until === undefined ? new Date() : readOne('until', until),
  };
  if (errors.length === 0 && until !== undefined && span.until < span.since) {
    errors.push({ pointer: '/until', detail: 'until: expected a time after since' });
  }
  if (errors.length > 0) throw invalidRequest(errors);
  return span;
}

const tooLong = (sent: number): Failure =>
  new Failure(
    'timeout',
    `There are too many events in this span for one replay; ${sent} of them will be sent. Narrow it by since and until.`,
  );
