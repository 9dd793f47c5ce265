// Which partitions a replica reads now. Pure. A stream may have messages that came under another number of partitions than
// the one in force: they are older, so what came under the number in force waits until they are gone, or an integration's
// events would be delivered in another order than they came.
import { unpartitioned, type Partition } from '@integration-sync/contracts';
import type { Assignment } from './assignment.ts';

/** What came under one number: a single partition is read by every replica, several each by one. */
export function partitionsToRead(number: number, self: string, owners: Assignment): Partition[] {
  if (number === 1) return [unpartitioned];
  return owners(number).flatMap((owner, partition) => (owner === self ? [{ number, partition }] : []));
}

/** Messages that came under one number, and are before those that came under another one later. */
export interface Generation {
  number: number;
  messages: number;
}

/** Older messages stay where they are for so long, before what is newer is read beside them. */
const stuckMs = 10_000;

/** Says which of the numbers are read now; of the generations the oldest comes first. */
export type WhichToRead = (generations: readonly Generation[], nowMs: number) => number[];

/** What is read once, is read on. */
export function openOrder(): WhichToRead {
  let known = new Map<number, { isRead: boolean; fewest: number; since: number }>();
  return (generations, nowMs) => {
    let older = 0;
    known = new Map(
      generations.map(({ number, messages }) => {
        const one = known.get(number) ?? { isRead: false, fewest: Infinity, since: nowMs };
        if (older < one.fewest) Object.assign(one, { fewest: older, since: nowMs });
        one.isRead ||= older === 0 || nowMs - one.since >= stuckMs;
        older += messages;
        return [number, one];
      }),
    );
    return generations.flatMap(({ number }) => (known.get(number)?.isRead === true ? [number] : []));
  };
}
