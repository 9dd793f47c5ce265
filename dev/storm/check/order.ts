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

interface Finding {
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
  id: string;
}

/**
 * `reads`: all that were made of the record, which show when cut-off pushes had taken effect. What it opens finds nothing if a read of
 * that time may show the value.
 */
export function openOrder({ plural, writes }: RecordHistory, reads: readonly Seen[]) {
  const byName = Map.groupBy(writes, ({ items }) => shownName(plural, items));
  const acks = writes
    .filter(({ acknowledged }) => acknowledged)
    .map(({ push: { begunMs, endedMs: knownMs, id } }) => ({ begunMs, knownMs, id }));
  const sightings = proofsOf(byName, reads);
  return (seen: Seen): Finding | undefined => {
    const shown = byName.get(seen.name) ?? [];
    if (!shown.some(({ push }) => push.begunMs <= seen.endedMs))
      return { class: 'invented', shown: 'no push', newer: undefined, sinceMs: seen.begunMs };
    const lastEndedMs = Math.max(...shown.map(({ push }) => push.endedMs));
    const isCertain = shown.every(({ acknowledged }) => acknowledged);
    const ack = newerThan(acks, lastEndedMs, seen.begunMs);
    // A cut-off push may still be replaced by another one that was cut off: neither was promised anything.
    const newer = ack ?? (isCertain ? newerThan(sightings, lastEndedMs, seen.begunMs) : undefined);
    return (
      newer && {
        class: isCertain ? 'stale' : 'overwritten',
        shown: shown.map(({ push }) => push.id).join(', '),
        newer: newer.id,
        sinceMs: Math.min(...shown.map(({ push }) => push.begunMs)),
      }
    );
  };
}

/** For each cut-off push with a name of its own, when a read first showed its value: it had taken effect by then. */
function proofsOf(byName: ReadonlyMap<string, readonly Write[]>, reads: readonly Seen[]): Proof[] {
  const proofs = [...Map.groupBy(reads, ({ name }) => name)].flatMap(([name, shown]): Proof[] => {
    const [write, ...others] = byName.get(name) ?? [];
    if (write === undefined || others.length > 0 || write.acknowledged) return [];
    const { begunMs, id } = write.push;
    return [{ begunMs, knownMs: Math.min(...shown.map(({ endedMs }) => endedMs)), id }];
  });
  return proofs.toSorted((one, other) => one.begunMs - other.begunMs);
}

/** A push that began after `endedMs` and was known to have taken effect before the read began; `proofs` by their beginning. */
const newerThan = (proofs: readonly Proof[], endedMs: number, readBegunMs: number): Proof | undefined =>
  proofs
    .slice(proofs.findLastIndex(({ begunMs }) => begunMs <= endedMs) + 1)
    .find(({ knownMs }) => knownMs < readBegunMs);
