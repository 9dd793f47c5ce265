// An event batch as it stands in the log: where, of which integration, and its events, which are decoded once for all
// endpoints, and only where one of them asks.
import { readEventBatch, readStoredBatchSubject } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import { mayHoldBatch, readStreamEvent, type StreamEvent } from './event.ts';

export interface LoggedBatch {
  readonly sequence: number;
  readonly partition: number;
  readonly integration: string;
  readonly storedAt: Date;
  /** What it takes of memory, decoded. */
  readonly bytes: number;
  /** How many events it has by its first line. */
  readonly count: number;
  /** The endpoint that alone gets it; undefined where it was announced. */
  readonly endpointId: string | undefined;
  /** Of the step from which its deliveries come. */
  traceparent: string | undefined;
  /** In their order; an index into them is half of an offset. */
  events(): readonly StreamEvent[];
}

interface Stored {
  subject: string;
  sequence: number;
  storedAt: Date;
  traceparent?: string | undefined;
  body: Uint8Array;
}

/** Undefined where the message is no event batch. */
export function readBatch(stored: Stored, log: Log): LoggedBatch | undefined {
  const subject = readStoredBatchSubject(stored.subject);
  const batch = readEventBatch(stored.body);
  if (subject === undefined || batch === undefined) return undefined;
  const { announcer, integration, partition } = subject;
  const endpointId = announcer === 'replay' ? batch.endpointId : undefined;
  let events: readonly StreamEvent[] | undefined;

  const decode = (): readonly StreamEvent[] => {
    const { traceparent } = logged;
    const all = batch
      .events()
      .flatMap((event) => readStreamEvent({ ...event, sequence: batch.place, traceparent }) ?? []);
    const holds = mayHoldBatch(announcer);
    const held = all.filter(({ event }) => holds(event));
    if (held.length < all.length) {
      const kinds = [...new Set(all.map(({ event }) => event))].filter((kind) => !holds(kind));
      const refused = {
        subject: stored.subject,
        kinds: kinds.slice(0, kindsMax),
        events: all.length - held.length,
      };
      log.error(refused, 'refused events that their publisher may not announce');
    }
    return held;
  };

  const logged: LoggedBatch = {
    sequence: stored.sequence,
    partition,
    integration,
    storedAt: stored.storedAt,
    bytes: stored.body.length + bytesBeside + batch.count * bytesOfEvent,
    count: batch.count,
    endpointId,
    traceparent: stored.traceparent,
    events: () => (events ??= decode()),
  };
  return logged;
}

const kindsMax = 10;
/** Measured: its message and itself, and each event with a body of its own. A small push is mostly that. */
const [bytesBeside, bytesOfEvent] = [1_500, 500];
