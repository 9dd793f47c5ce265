// Queues pushes of the same records in this replica, in the order in which they came. A push waits for each earlier push that
// names one of its records.
//
// Correctness does not depend on the order: a write takes effect only on records that are as the push read them
// (record-writes.ts). So no push waits for a push whose caller has given up.
import { openWatch } from '@integration-sync/runtime/watch';

interface Member {
  listing: string;
  ids: Iterable<string>;
  isGivenUp: () => boolean;
  isOver: boolean;
  /** How many pushes this push waits for. */
  ahead: number;
  behind: Member[];
  begin: () => void;
}

const lookEveryMs = 100;

export function openRecordQueues() {
  /** By listing and externalId, the last push that named the record. */
  const lastByListing = new Map<string, Map<string, Member>>();
  /** Pushes that other pushes wait for. */
  const waitedFor = new Set<Member>();

  const end = (member: Member): void => {
    member.isOver = true;
    // A push that gave up while it waited stays queued: later pushes still wait for the pushes before it.
    if (member.ahead > 0) return;
    waitedFor.delete(member);
    const last = lastByListing.get(member.listing);
    for (const id of member.ids) if (last?.get(id) === member) last.delete(id);
    if (last?.size === 0) lastByListing.delete(member.listing);
    for (const next of member.behind.splice(0)) {
      next.ahead -= 1;
      if (next.ahead > 0) continue;
      if (next.isOver) end(next);
      else next.begin();
    }
  };

  const watch = openWatch(lookEveryMs, () => {
    for (const member of waitedFor) if (member.ahead === 0 && member.isGivenUp()) end(member);
    return waitedFor.size > 0;
  });

  return {
    /** `turn` is undefined if the push need not wait. The caller disposes of the result when the push ends or stops waiting. */
    join(listing: string, ids: Iterable<string>, isGivenUp: () => boolean) {
      const { promise, resolve: begin } = Promise.withResolvers<void>();
      const member: Member = { listing, ids, isGivenUp, isOver: false, ahead: 0, behind: [], begin };
      const last = lastByListing.getOrInsertComputed(listing, () => new Map());
      const before = new Set<Member>();
      for (const id of ids) {
        const other = last.get(id);
        if (other !== undefined && other !== member) before.add(other);
        last.set(id, member);
      }
      for (const other of before) {
        other.behind.push(member);
        waitedFor.add(other);
      }
      member.ahead = before.size;
      if (before.size > 0) watch.begin();
      return {
        turn: before.size > 0 ? promise : undefined,
        [Symbol.dispose](): void {
          if (!member.isOver) end(member);
        },
      };
    },
    [Symbol.dispose]: (): void => watch[Symbol.dispose](),
  };
}
