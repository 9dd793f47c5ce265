// Which replica is to own which partition. Pure: every replica computes it from the replicas that it hears, and those that
// hear the same come to the same. No replica has more than its share, and few partitions move when a replica comes or goes.
// Where two replicas differ for a moment, the claims decide (claims.ts).
import { hash } from 'node:crypto';
import { partitionsNumber } from '@integration-sync/contracts';

/** The owner of each partition. Empty where there is no replica. */
export function assign(replicas: readonly string[], number = partitionsNumber): string[] {
  const shareMax = Math.ceil(number / replicas.length);
  const shares = new Map<string, number>();
  const sorted = replicas.toSorted();
  return Array.from({ length: sorted.length === 0 ? 0 : number }, (_, partition) => {
    const [owner = ''] = sorted
      .filter((replica) => (shares.get(replica) ?? 0) < shareMax)
      .map((replica) => ({ replica, rank: hash('sha256', `${partition} ${replica}`) }))
      .toSorted((one, other) => (one.rank < other.rank ? -1 : 1))
      .map(({ replica }) => replica);
    shares.set(owner, (shares.get(owner) ?? 0) + 1);
    return owner;
  });
}
