// Sending events of a span of time again: those that the event stream holds, and those that were missed because
// their endpoint was disabled at a moment within the span, though the events themselves are older.
import { randomBytes } from 'node:crypto';
import {
  Failure,
  packAddressedBatches,
  parseInstant,
  quote,
  ReplayEvents,
  requestHeaders,
  subjects,
  type BatchedEvent,
  type FailureEntry,
} from '@integration-sync/contracts';
import type { Bus, BusHandler, BusRequest } from '@integration-sync/runtime/bus';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import type { StreamEvent } from '../log/event.ts';
import { isMeantFor } from '../matching/subscription.ts';
import { accept, bodyExaminer } from './body.ts';
import { endpointOf, json } from './handlers.ts';
import { openCandidates, type CandidatesOptions } from './replay-candidates.ts';

export interface ReplayOptions extends CandidatesOptions {
  endpoints: Endpoints;
  bus: CandidatesOptions['bus'] & Pick<Bus, 'publishBatch'>;
}

const eventsAtOnce = 1_000;
/** A replay that is too long says so this much before its caller stops waiting. */
const marginMs = 1_000;

export function replayHandlers(options: ReplayOptions): Record<string, BusHandler> {
  const { endpoints, bus } = options;
  const examine = bodyExaminer(ReplayEvents);
  const candidatesIn = openCandidates(options);
  return {
    [subjects.endpointsReplay]: async (request) => {
      const examined = examine(request);
      const { since, until, events } = accept(examined, wrongTimesIn(examined.given));
      const span = { since: instantOf(since), until: until === undefined ? undefined : instantOf(until) };
      const endpoint = await endpointOf(endpoints, request);
      if (!endpoint.active) {
        throw new Failure('conflict', 'The webhook is disabled; enable it first ({"active": true}).');
      }
      const kinds = endpoint.events.filter((kind) => events?.includes(kind) !== false);
      const wanted = { ...endpoint, events: kinds };
      const candidates = candidatesIn(wanted, span);
      const queued = await send(wanted, candidates, request);
      return { ...json({ queued }), logFields: { queued } };
    },
  };

  /** Every delivery is stored before it is counted, so each counted one will be sent. */
  async function send(
    endpoint: Endpoint,
    candidates: AsyncIterable<StreamEvent | undefined>,
    { deadline, traceparent }: BusRequest,
  ): Promise<number> {
    const until = deadline - marginMs;
    const replay = randomBytes(8).toString('hex');
    const { _id: endpointId, integration } = endpoint;
    const seen = new Set<string>();
    let published = 0;
    let parts = 0;
    let some: BatchedEvent[] = [];
    const publish = async (): Promise<void> => {
      if (some.length === 0) return;
      const sending = `${replay}.${parts}`;
      const messages = packAddressedBatches({ endpointId, integration, sending }, some);
      await bus.publishBatch(
        messages,
        traceparent === undefined ? {} : { [requestHeaders.traceparent]: traceparent },
      );
      published += some.length;
      parts += 1;
      some = [];
    };
    for await (const candidate of candidates) {
      if (Date.now() > until) throw tooLong(published);
      if (candidate === undefined) continue;
      const { eventId, body } = candidate;
      if (!isMeantFor(endpoint, candidate) || seen.has(eventId)) continue;
      seen.add(eventId);
      some.push({ id: eventId, body: Buffer.from(body).toString() });
      if (some.length >= eventsAtOnce) await publish();
    }
    await publish();
    return published;
  }
}

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
