// Says which values of a record a read may show. A push takes effect between its beginning and its answer. So a read that begins
// after the answer to push B must not show push A, if A had ended before B began. A cut-off push has surely taken effect once a
// read has shown its value.
import { shownName } from './fields.ts';
import type { RecordHistory, Write } from './history.ts';

export interface Seen {
  name: string;
  begunMs: number;
  endedMs: number;
}

interface Finding {
  class: 'overwritten' | 'stale' | 'invented';
  /** The push whose value was seen, and the newer push that should have hidden it. */
  shown: string;
  newer: string | undefined;
  /** When the first push of the seen value began. */
  sinceMs: number;
}

interface Proof {
  begunMs: number;
  /** The time from which on the push has surely taken effect. */
  knownMs: number;
  id: string;
}

/**
 * `reads`: all reads of the record, which prove that cut-off pushes had taken effect. The returned function says what is wrong
 * with the value of a read; undefined if nothing is wrong.
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
    // The service promises no order of two cut-off pushes, so a newer cut-off push need not hide an older one.
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

/** Finds a push that began after `endedMs` and had surely taken effect before the read began. `proofs`: sorted by `begunMs`. */
const newerThan = (proofs: readonly Proof[], endedMs: number, readBegunMs: number): Proof | undefined =>
  proofs
    .slice(proofs.findLastIndex(({ begunMs }) => begunMs <= endedMs) + 1)
    .find(({ knownMs }) => knownMs < readBegunMs);
