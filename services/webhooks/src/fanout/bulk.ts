// Integrations whose events make many deliveries: these go to the stream a chunk at a time, in turn with those of other
// such integrations, while the little of all others goes on. What comes of an integration meanwhile follows in its order.
// Its bundles are not acknowledged until then, and nats-server hands out a bounded number of those (partitioning.ts).
import { openBatchQueue, type BatchQueue } from '../tools/batch-queue.ts';
import { openLimiter } from '../tools/limiter.ts';
import { batchEvents, type Matched, type Taken } from './bundles.ts';
import { parcelChunksOf } from './parcels.ts';
import type { StoreParcels } from './storing.ts';

export interface Bulk {
  /** Whether something of the integration is under way: then whatever else comes of it is for here. */
  has(integration: string): boolean;
  add(bundle: Taken): void;
  settled(): Promise<void>;
}

export interface BulkOptions {
  match: (bundles: readonly Taken[]) => Promise<readonly Matched[]>;
  store: StoreParcels;
  settle: (matched: readonly Matched[]) => void;
  giveBack: (bundles: readonly Taken[], error: unknown) => void;
}

interface UnderWay {
  queue: BatchQueue<Taken>;
  bundles: number;
}

export function openBulk({ match, store, settle, giveBack }: BulkOptions): Bulk {
  const byIntegration = new Map<string, UnderWay>();
  const inTurn = openLimiter({ max: 1 });

  const publish = async (matched: readonly Matched[], integration: string): Promise<void> => {
    const chunks = parcelChunksOf(matched, 'backlog');
    const publishNext = async (): Promise<boolean> => {
      const { value, done } = chunks.next();
      if (done === true) return false;
      await store(value);
      return true;
    };
    while (await inTurn(publishNext, integration));
  };

  const open = (integration: string): UnderWay => {
    const work = async (batch: readonly Taken[]): Promise<void> => {
      try {
        const matched = await match(batch);
        await publish(matched, integration);
        settle(matched);
      } catch (error) {
        giveBack(batch, error);
      } finally {
        underWay.bundles -= batch.length;
        if (underWay.bundles === 0) byIntegration.delete(integration);
      }
    };
    const underWay = {
      queue: openBatchQueue({ ...batchEvents, pause: async () => undefined, work }),
      bundles: 0,
    };
    byIntegration.set(integration, underWay);
    return underWay;
  };

  return {
    has: (integration) => byIntegration.has(integration),
    add(bundle) {
      const underWay = byIntegration.get(bundle.integration) ?? open(bundle.integration);
      underWay.bundles += 1;
      underWay.queue.add(bundle);
    },
    async settled() {
      await Promise.all(byIntegration.values().map(({ queue }) => queue.settled()));
    },
  };
}
