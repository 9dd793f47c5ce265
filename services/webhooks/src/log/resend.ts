// Sends events to one endpoint again: as event batches in the log that are addressed to it, so that they are delivered as all
// others are. Other endpoints pass over them.
import { hash } from 'node:crypto';
import { packAddressedBatches, requestHeaders, type BatchedEvent } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { StreamEvent } from './event.ts';

/** Undefined for each event that is not to be sent, so that `goOn` is asked in between. */
export type Candidate = StreamEvent | undefined;

export interface ResendOptions {
  endpoint: { _id: string; integration: string };
  /** The same events of the same sending are stored once, however often they are sent within ten minutes. */
  sending: string;
  traceparent?: string | undefined;
  /** Is told how many are stored, and throws where no more are to be. */
  goOn: (stored: number) => void;
}

/** Every event is stored before it is counted, so each counted one will be sent. */
export type Resend = (
  candidates: AsyncIterable<Candidate> | Iterable<Candidate>,
  options: ResendOptions,
) => Promise<number>;

const eventsAtOnce = 1_000;

export const openResend =
  (bus: Pick<Bus, 'publishBatch'>): Resend =>
  async (candidates, { endpoint, sending, traceparent, goOn }) => {
    const { _id: endpointId, integration } = endpoint;
    const headers = traceparent === undefined ? {} : { [requestHeaders.traceparent]: traceparent };
    const seen = new Set<string>();
    let stored = 0;
    let some: BatchedEvent[] = [];
    const store = async (): Promise<void> => {
      if (some.length === 0) return;
      const events = hash('sha256', some.map(({ id }) => id).join(' '));
      await bus.publishBatch(
        packAddressedBatches({ endpointId, integration, sending: `${sending}.${events}` }, some),
        headers,
      );
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
