// Purges the answers of receivers (answers.ts) after erasings of suppliers, beside the deliveries. The purge for the thousand endpoints of
// one integration takes seconds, in which events of other integrations must not wait. Until it ends, the floor of the partition stays
// before the event batch of the erasing: after a kill, the next owner purges again.
import { setTimeout as wait } from 'node:timers/promises';
import { oneByOne, openBatcher } from '@integration-sync/runtime/batcher';
import type { Log } from '@integration-sync/runtime/log';
import type { Retry } from '@integration-sync/runtime/retry';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { LoggedBatch } from '../log/logged-batch.ts';
import type { OwnedPartitions } from '../owning/ownership.ts';

interface ErasingsOptions {
  owned: Pick<OwnedPartitions, 'holdFloor'>;
  endpoints: Pick<Endpoints, 'subscribersOf'>;
  forgetAnswers: (endpointIds: readonly string[]) => Promise<void>;
  retry: Retry;
  log: Log;
}

/** How long a release waits for purges. Beyond that no replica would read the partition, and its next owner repeats deliveries instead. */
const patienceMs = 5_000;

export type Erasings = ReturnType<typeof openErasings>;

export function openErasings({ owned, endpoints, forgetAnswers, retry, log }: ErasingsOptions) {
  /** Erasings that come during a purge share the next purge. */
  const purge = openBatcher<string, null>(
    (integrations) =>
      retry('removing the answers of receivers', async () => {
        const found = await endpoints.subscribersOf([...new Set(integrations)]);
        await forgetAnswers([...found.values()].flat().map(({ _id }) => _id));
        return integrations.map(() => null);
      }),
    Infinity,
    oneByOne(),
  );
  /** Purges of answers that have not ended, each with its partition. */
  const underWay = new Map<Promise<void>, number>();

  const purgeFor = async (batch: LoggedBatch): Promise<void> => {
    const hold = owned.holdFloor(batch);
    try {
      await purge(batch.integration);
      hold[Symbol.dispose]();
    } catch (error) {
      log.debug({ err: error }, 'the next owner removes answers of receivers, because this process stops');
    }
  };

  return {
    begin(batches: readonly LoggedBatch[]): void {
      for (const batch of batches) {
        if (!batch.isErasing) continue;
        const work = purgeFor(batch).finally(() => underWay.delete(work));
        underWay.set(work, batch.partition);
      }
    },
    /** Resolves once no purge for these partitions is under way, or after 5 s. */
    async ended(partitions: readonly { partition: number }[]): Promise<void> {
      const ending = new Set(partitions.map(({ partition }) => partition));
      const purges = Array.from(underWay).flatMap(([work, partition]) =>
        ending.has(partition) ? [work] : [],
      );
      if (purges.length > 0)
        await Promise.race([Promise.all(purges), wait(patienceMs, undefined, { ref: false })]);
    },
  };
}
