// Which values of a record may be seen when. A push takes effect somewhere between its beginning and its answer, so an
// acknowledged one that was answered before a read began, and that itself began after another had ended, hides that other
// from the read for ever. What was cut off and then seen in a read has taken effect just as surely.
import { shownName } from './fields.ts';
import type { RecordHistory, Write } from './history.ts';

export interface Seen {
  name: string;
  begunMs: number;
  endedMs: number;
}

export interface Finding {
  class: 'overwritten' | 'stale' | 'invented';
  /** The push whose value was seen, and the one that should have hidden it. */
  shown: string;
  newer: string | undefined;
  /** When the first push of that value began. */
  sinceMs: number;
}

interface Proof {
  begunMs: number;
  /** When the push has surely taken effect. */
  knownMs: number;
  push: string;
}

/** Undefined if a read of that time may show the value. */
export type Judge = (seen: Seen) => Finding | undefined;

/** `reads`: all that were made of the record, which show when cut-off pushes had taken effect. */
export function openOrder({ plural, writes }: RecordHistory, reads: readonly Seen[]): Judge {
  const byName = Map.groupBy(writes, ({ items }) => shownName(plural, items));
  const acknowledged = writes.filter((write) => write.acknowledged);
  const acks = inOrderKnown(
    acknowledged.map(({ push: { begunMs, endedMs: knownMs, id: push } }) => ({ begunMs, knownMs, push })),
  );
  const sightings = inOrderKnown(proofsOf(byName, reads));
  return (seen) => {
    const shown = byName.get(seen.name) ?? [];
    if (!shown.some(({ push }) => push.begunMs <= seen.endedMs))
      return { class: 'invented', shown: 'no push', newer: undefined, sinceMs: seen.begunMs };
    const lastEndedMs = Math.max(...shown.map(({ push }) => push.endedMs));
    const names = shown.map(({ push }) => push.id).join(', ');
    const sinceMs = Math.min(...shown.map(({ push }) => push.begunMs));
    const isCertain = shown.every((write) => write.acknowledged);
    const ack = newerThan(acks, lastEndedMs, seen.begunMs);
    if (ack !== undefined)
      return { class: isCertain ? 'stale' : 'overwritten', shown: names, newer: ack.push, sinceMs };
    // A cut-off push may still be replaced by another one that was cut off: neither was promised anything.
    const sighting = isCertain ? newerThan(sightings, lastEndedMs, seen.begunMs) : undefined;
    return sighting && { class: 'stale', shown: names, newer: sighting.push, sinceMs };
  };
}

/** For each cut-off push with a name of its own, when a read first showed its value: it had taken effect by then. */
function proofsOf(byName: ReadonlyMap<string, readonly Write[]>, reads: readonly Seen[]): Proof[] {
  const firstSeenMs = new Map<string, number>();
  for (const { name, endedMs } of reads)
    firstSeenMs.set(name, Math.min(endedMs, firstSeenMs.get(name) ?? Infinity));
  return [...firstSeenMs].flatMap(([name, knownMs]): Proof[] => {
    const [write, ...others] = byName.get(name) ?? [];
    if (write === undefined || others.length > 0 || write.acknowledged) return [];
    return [{ begunMs: write.push.begunMs, knownMs, push: write.push.id }];
  });
}

/** Sorts proofs by `knownMs`; each entry has the proof with the latest beginning among itself and those before it. */
function inOrderKnown(proofs: readonly Proof[]): { knownMs: number; latest: Proof }[] {
  let latest: Proof | undefined;
  return proofs
    .toSorted((one, other) => one.knownMs - other.knownMs)
    .map((proof) => {
      if (latest === undefined || proof.begunMs > latest.begunMs) latest = proof;
      return { knownMs: proof.knownMs, latest };
    });
}

/** A push that began after `endedMs` and was known to have taken effect before the read began. */
function newerThan(
  proofs: readonly { knownMs: number; latest: Proof }[],
  endedMs: number,
  readBegunMs: number,
): Proof | undefined {
  const known = proofs.findLast(({ knownMs }) => knownMs < readBegunMs);
  return known !== undefined && known.latest.begunMs > endedMs ? known.latest : undefined;
}
