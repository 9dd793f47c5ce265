// What a stream has under which number of partitions, the oldest first, and how many messages of it are before what is newer.
import { numberFilters, type Partition } from '@integration-sync/contracts';
import type { Bus, PartitionsInForce } from '@integration-sync/runtime/bus';
import type { PartitionedStream } from '../streams/partitioning.ts';
import type { Generation } from './plan.ts';

export interface GenerationsOptions {
  bus: Pick<Bus, 'consumerFacts' | 'readStream'>;
  of: PartitionedStream;
  /** A message is before those that are newer until it is settled. Otherwise it is until a replica has taken it. */
  inOrder: boolean;
}

/** That of the number in force is always among them, and comes last. */
export type GenerationsOf = (inForce: PartitionsInForce) => Promise<Generation[]>;

export function openGenerations({ bus, of, inOrder }: GenerationsOptions): GenerationsOf {
  /** The place of the oldest message. */
  const firstOf = async (number: number): Promise<number> => {
    const firsts = numberFilters(of.noun, number).map(async (subject) => {
      const reading = bus.readStream(of.stream, { subject, from: { sequence: 1 }, max: 1 });
      const [first] = await Array.fromAsync(reading);
      return first?.sequence ?? Infinity;
    });
    return Math.min(...(await Promise.all(firsts)));
  };

  /** All of them, where there is no consumer yet. */
  const countPending = async (number: number, messages: number): Promise<number> => {
    try {
      const all = await Promise.all(
        partitionsOf(number).map((one) => bus.consumerFacts(of.stream, of.consumerOf(one).name)),
      );
      return all.reduce((sum, { pending }) => sum + pending, 0);
    } catch {
      return messages;
    }
  };

  return async ({ number: inForce, waiting }) => {
    const older = await Promise.all(
      [...waiting]
        .filter(([number]) => number !== inForce)
        .map(async ([number, messages]) => ({
          number,
          messages: inOrder ? messages : await countPending(number, messages),
          first: waiting.size > 2 ? await firstOf(number) : 0,
        })),
    );
    older.sort((one, other) => one.first - other.first);
    return [...older, { number: inForce, messages: waiting.get(inForce) ?? 0 }];
  };
}

const partitionsOf = (number: number): Partition[] =>
  Array.from({ length: number }, (_, partition) => ({ number, partition }));
