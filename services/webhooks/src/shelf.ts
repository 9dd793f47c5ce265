// Setting deliveries aside: from the stream's consumer, whose places are shared by all endpoints, into what is
// held for one endpoint. Many at a time, because the disk is synced once per batch.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '@integration-sync/runtime/log';
import type { Delivery } from './envelope.ts';
import { openGathering } from './gathering.ts';
import type { InHand } from './hands.ts';
import type { Held } from './held.ts';
import type { Keepers } from './keepers.ts';
import type { Numbers } from './numbers.ts';

export interface Shelf {
  put(inHand: InHand, delivery: Delivery): void;
  /** Resolves when nothing is on its way. */
  settled(): Promise<void>;
}

export interface ShelfOptions {
  held: Pick<Held, 'putAll'>;
  keepers: Pick<Keepers, 'ensure'>;
  numbers: Pick<Numbers, 'setAside'>;
  log: Log;
}

interface Item {
  inHand: InHand;
  delivery: Delivery;
}

const headStartMs = 10;
const batchMax = 1_000;
const retryMs = 1_000;

export function openShelf({ held, keepers, numbers, log }: ShelfOptions): Shelf {
  const write = async (batch: readonly Item[]): Promise<void> => {
    try {
      await held.putAll(batch.map(({ delivery }) => delivery));
      const ids = new Set(batch.map(({ delivery }) => delivery.endpointId));
      await Promise.all([...ids].map((id) => keepers.ensure(id)));
      for (const { inHand } of batch) inHand.ack();
      numbers.setAside(batch.length);
    } catch (error) {
      log.warn({ err: error, count: batch.length }, 'deliveries could not be set aside, trying again');
      for (const { inHand } of batch) inHand.giveBack(retryMs);
    }
  };
  const gathering = openGathering<Item>({
    max: batchMax,
    // What arrives in one go is set aside in one go, once what came with it and can be sent is on its way.
    pause: () => wait(headStartMs),
    work: write,
  });

  return {
    put: (inHand, delivery) => gathering.add({ inHand, delivery }),
    settled: () => gathering.settled(),
  };
}
