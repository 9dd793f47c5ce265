// A place of the feed: the point of the log from which a caller reads on, sealed for one integration and one log.
// page.ts passes over the events up to `since`. The filters may change from request to request. A caller may keep a
// place for days, so a former key still opens places.
import { eventBatchesNoun, eventBatchesStream, Failure, storedBatches } from '@integration-sync/contracts';
import type { Bus, StreamFacts } from '@integration-sync/runtime/bus';
import { openSealer } from '@integration-sync/runtime/seal';
import type { LogPoint } from '../log/offsets.ts';
import { clockSkewMs } from '../log/batch.ts';
import { parseKeys } from '../secrets/vault.ts';

export interface Place extends LogPoint {
  /** The creation time of the log to which the point belongs. */
  stream: string;
  /** Epoch milliseconds. Pages pass over events up to this time until they reach a later event. */
  sinceMs: number | null;
}

type Sealed = [stream: string, sequence: number, index: number, sinceMs: number | null];

export type Places = ReturnType<typeof openPlaces>;

/** `keys` are those of the vault; the first key seals. */
export function openPlaces(keys: string) {
  const all = Array.from(parseKeys(keys)?.values() ?? [], (key) =>
    openSealer<Sealed>(`feed ${key.toString('base64')}`),
  );
  const [first] = all;
  if (first === undefined) throw new Error('WEBHOOK_SECRET_KEY is no list of keys');
  return {
    seal: (integration: string, { stream, sequence, index, sinceMs }: Place): string =>
      first.seal(integration, [stream, sequence, index, sinceMs]),
    /** Undefined for a text that webhooks did not issue for this integration: feed.ts answers 400. */
    open(integration: string, text: string): Place | undefined {
      for (const sealer of all) {
        const sealed = sealer.unseal(integration, text);
        if (sealed === undefined) continue;
        const [stream, sequence, index, sinceMs] = sealed;
        return { stream, sequence, index, sinceMs };
      }
      return undefined;
    },
  };
}

/** Where a caller begins: at its place, at a time, or at the end of the log. Throws if the log lacks events after the place. */
export async function beginningOf(
  bus: Pick<Bus, 'readStream'>,
  integration: string,
  { after, since }: { after: Place | undefined; since: Date | undefined },
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
  const from = { time: new Date(sinceMs - clockSkewMs) };
  const reading = { subject: storedBatches(integration), from, max: 1, exact: true };
  for await (const { sequence } of bus.readStream(eventBatchesStream, reading)) {
    if (sequence <= lastSequence) return { ...end, sequence, sinceMs };
  }
  return { ...end, sinceMs };
}

/** False if the log was created again, was restored from an older copy, or has dropped the next event. */
const isKept = ({ stream, sequence }: Place, { madeAt, firstSequence, lastSequence }: StreamFacts): boolean =>
  stream === madeAt.toISOString() && sequence >= firstSequence && sequence <= lastSequence + 1;

async function tooOld(bus: Pick<Bus, 'readStream'>, { firstSequence }: StreamFacts): Promise<Failure> {
  const reading = { subject: `${eventBatchesNoun}.>`, from: { sequence: firstSequence }, max: 1 };
  let oldest = new Date();
  for await (const { storedAt } of bus.readStream(eventBatchesStream, reading)) oldest = storedAt;
  return new Failure(
    'conflict',
    `The events after this place are no longer kept: the oldest is of ${oldest.toISOString()}. ` +
      'List the records, then call again without `after`.',
  );
}
