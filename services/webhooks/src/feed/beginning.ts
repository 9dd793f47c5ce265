// Where a caller of the feed begins: at its place, at a time, or at the end of the log. A page from a time reads from a minute
// earlier, because clocks differ; page.ts leaves out events up to the time. If the log no longer keeps the events after
// the place, the answer is 409.
import { eventBatchesNoun, eventBatchesStream, Failure, storedBatches } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { clockSkewMs } from '../log/logged-batch.ts';
import type { LogStream, LogStreamFacts } from '../log/stream.ts';
import type { Place } from './place.ts';

export async function beginningOf(
  { bus, stream }: { bus: Pick<Bus, 'readStream'>; stream: Pick<LogStream, 'has'> },
  integration: string,
  { after, since }: { after: Place | undefined; since: Date | undefined },
  facts: LogStreamFacts,
): Promise<Place> {
  if (after !== undefined) {
    if (!(await isKept(after, facts, stream))) throw await tooOld(bus, facts);
    return after;
  }
  const { id, lastSequence } = facts;
  const end = { stream: id, sequence: lastSequence + 1, index: 0 };
  if (since === undefined) return { ...end, sinceMs: null };
  const sinceMs = since.getTime();
  const from = { time: new Date(sinceMs - clockSkewMs) };
  const reading = { subject: storedBatches(integration), from, max: 1, exact: true };
  for await (const { sequence } of bus.readStream(eventBatchesStream, reading)) {
    if (sequence <= lastSequence) return { ...end, sequence, sinceMs };
  }
  return { ...end, sinceMs };
}

/** Whether the log can be read on at the place: not if it was created again or restored, or has dropped the next event. */
async function isKept(
  { stream: placeOf, sequence, newest }: Place,
  { id, firstSequence, lastSequence }: LogStreamFacts,
  stream: Pick<LogStream, 'has'>,
): Promise<boolean> {
  if (placeOf !== id || sequence < firstSequence) return false;
  // A new leader of the stream may for a moment answer without the last messages, even without the newest message of the place.
  const end = Math.max(lastSequence, newest?.sequence ?? 0);
  return sequence <= end + 1 && (newest === undefined || stream.has(newest));
}

async function tooOld(
  bus: Pick<Bus, 'readStream'>,
  { firstSequence }: Pick<LogStreamFacts, 'firstSequence'>,
): Promise<Failure> {
  const reading = { subject: `${eventBatchesNoun}.>`, from: { sequence: firstSequence }, max: 1 };
  let oldest = new Date();
  for await (const { storedAt } of bus.readStream(eventBatchesStream, reading)) oldest = storedAt;
  return new Failure(
    'conflict',
    `Some events after this place are no longer kept: the oldest kept event is of ${oldest.toISOString()}. ` +
      'List the records, then call again without `after`.',
  );
}
