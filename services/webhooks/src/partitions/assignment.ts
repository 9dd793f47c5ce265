// Which replica reads which partition. Pure: every replica computes it from the replicas that it hears, and those that hear
// the same come to the same. No replica has more than its share, and few partitions move when a replica comes or goes.
// Where two replicas differ for a moment, both read a partition, or neither does; each message is still one replica's.
import { hash } from 'node:crypto';

/** The owner of each partition, by its place. Empty where there is no replica. */
export function assign(number: number, replicas: readonly string[]): string[] {
  const shareMax = Math.ceil(number / replicas.length);
  const shares = new Map<string, number>();
  return Array.from({ length: replicas.length === 0 ? 0 : number }, (_, partition) => {
    const [owner = ''] = replicas
      .filter((replica) => (shares.get(replica) ?? 0) < shareMax)
      .map((replica) => ({ replica, rank: hash('sha256', `${number} ${partition} ${replica}`) }))
      .toSorted((one, other) => (one.rank < other.rank ? -1 : 1))
      .map(({ replica }) => replica);
    shares.set(owner, (shares.get(owner) ?? 0) + 1);
    return owner;
  });
}

/** The owners of so many partitions, by the replicas that read now. */
export type Assignment = (number: number) => readonly string[];

/** Computes it anew where the replicas are others. */
export function openAssignment(readers: () => readonly string[] | undefined): Assignment {
  const known = new Map<number, readonly string[]>();
  let ofReplicas = '';
  return (number) => {
    const replicas = (readers() ?? []).toSorted();
    if (replicas.join() !== ofReplicas) known.clear();
    ofReplicas = replicas.join();
    const owners = known.get(number) ?? assign(number, replicas);
    known.set(number, owners);
    return owners;
  };
}
