// A place of the feed: the offset from which a caller goes on, sealed for one integration and one making of the log. The caller
// may ask for other kinds or more events with it. A caller keeps it for days, so a former key still opens what it has sealed.
import { eventBatchesNoun, eventBatchesStream, Failure, storedBatches } from '@integration-sync/contracts';
import type { Bus, StreamFacts } from '@integration-sync/runtime/bus';
import { openSealer } from '@integration-sync/runtime/seal';
import type { LogPoint } from '../log/offsets.ts';
import { parseKeys } from '../secrets/vault.ts';

export interface Place extends LogPoint {
  /** When the log was made that the offset is of. */
  stream: string;
  /** Events up to this time are passed over until the first later one; epoch milliseconds. */
  sinceMs: number | null;
}

type Sealed = [stream: string, sequence: number, index: number, sinceMs: number | null];

export type Places = ReturnType<typeof openPlaces>;

/** `keys` as the vault takes them; the first one seals. */
export function openPlaces(keys: string) {
  const all = Array.from(parseKeys(keys)?.values() ?? [], (key) =>
    openSealer<Sealed>(`feed ${key.toString('base64')}`),
  );
  const [first] = all;
  if (first === undefined) throw new Error('not a list of keys');
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

/** An event is stored after it occurred, by clocks of different machines. */
const clockSkewMs = 60_000;

/** Where a caller begins: at its place, if the log still has what comes after it; at a time; or now. */
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

/** False where the log was made again, was put back to an older copy, or has dropped what follows. */
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
