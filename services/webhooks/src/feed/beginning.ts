// Where a caller of the feed begins: at its place, if the log still has what comes after it; at a time; or now.
import { eventBatchesNoun, eventBatchesStream, Failure, storedBatches } from '@integration-sync/contracts';
import type { Bus, StreamFacts } from '@integration-sync/runtime/bus';
import type { Place } from './place.ts';

export interface Asked {
  after: Place | undefined;
  since: Date | undefined;
}

/** An event is stored after it occurred, by clocks of different machines. */
const clockSkewMs = 60_000;

export async function beginningOf(
  bus: Pick<Bus, 'readStream'>,
  integration: string,
  { after, since }: Asked,
  facts: StreamFacts,
): Promise<Place> {
  if (after !== undefined) {
    if (!isKept(after, facts)) throw await tooOld(bus, facts);
    return after;
  }
  const { madeAt, lastSequence } = facts;
  const end = { stream: madeAt.toISOString(), sequence: lastSequence + 1, index: 0 };
  if (since === undefined) return { ...end, sinceMs: null };
  const sinceMs = since.getTime();
  const reading = {
    subject: storedBatches(integration),
    from: { time: new Date(sinceMs - clockSkewMs) },
    max: 1,
    exact: true,
  };
  for await (const { sequence } of bus.readStream(eventBatchesStream, reading)) {
    if (sequence <= lastSequence) return { ...end, sequence, sinceMs };
  }
  return { ...end, sinceMs };
}

/** Not if the log was made again, nor if it was put back to an older copy. */
const isKept = ({ stream, sequence }: Place, { madeAt, firstSequence, lastSequence }: StreamFacts): boolean =>
  stream === madeAt.toISOString() && sequence >= firstSequence && sequence <= lastSequence + 1;

async function tooOld(bus: Pick<Bus, 'readStream'>, { firstSequence }: StreamFacts): Promise<Failure> {
  const reading = { subject: `${eventBatchesNoun}.>`, from: { sequence: firstSequence }, max: 1 };
  let oldest = new Date();
  for await (const { storedAt } of bus.readStream(eventBatchesStream, reading)) oldest = storedAt;
  return new Failure(
    'conflict',
    `The events after this place are no longer kept: the oldest is of ${oldest.toISOString()}. ` +
      'List the records, and begin anew without after.',
  );
}
