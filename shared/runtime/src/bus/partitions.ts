// Into how many partitions a stream is divided, and what waits in it of this number and of those before it.
import { numberIn, readPartitionedSubject, type PartitionedNoun } from '@integration-sync/contracts';
import type { Connection } from './connection.ts';

export interface PartitionsInForce {
  /** What comes now is divided into so many. */
  number: number;
  /** Messages that are not settled, by the number under which they came. */
  waiting: ReadonlyMap<number, number>;
}

export async function partitionsOf(
  connection: Connection,
  stream: string,
  noun: PartitionedNoun,
): Promise<PartitionsInForce> {
  const { config, state } = await connection.whileConnected(() =>
    connection.manager.streams.info(stream, { subjects_filter: `${noun}.>` }),
  );
  const waiting = new Map<number, number>();
  for (const [subject, count] of Object.entries(state.subjects ?? {})) {
    const read = readPartitionedSubject(subject);
    if (read === undefined) continue;
    waiting.set(read.number, (waiting.get(read.number) ?? 0) + count);
  }
  return { number: numberIn(config.subject_transform), waiting };
}
