// Setting deliveries aside: from the stream's consumer, whose places are shared by all endpoints, into what is
// held for one endpoint. Many at a time, because the disk is synced once per batch. Until it is held, and somebody
// keeps the endpoint, it stays in hand: given back to the stream, it would take its neighbours in the message along,
// once a second.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '@integration-sync/runtime/log';
import type { Delivery } from './envelope.ts';
import { openGathering } from './gathering.ts';
import type { InHand } from './hands.ts';
import type { Held } from './held.ts';
import type { Keepers } from './keepers.ts';
import type { Numbers } from './numbers.ts';
import type { Persist } from './persistence.ts';

export interface Shelf {
  put(inHand: InHand, delivery: Delivery): void;
  /** Resolves when there is room for more; undefined if there is now. */
  room(): Promise<void> | undefined;
  /** Resolves when nothing is on its way. */
  settled(): Promise<void>;
}

export interface ShelfOptions {
  held: Pick<Held, 'putAll'>;
  keepers: Pick<Keepers, 'ensure'>;
  numbers: Pick<Numbers, 'setAside'>;
  /** Gives up when the process stops. */
  persist: Persist;
  /** The process stops. */
  signal: AbortSignal;
  log: Log;
}

interface Item {
  inHand: InHand;
  delivery: Delivery;
}

const headStartMs = 10;
const batchMax = 1_000;
const waitingMax = 5_000;
const retryMs = 1_000;

export function openShelf({ held, keepers, numbers, persist, signal, log }: ShelfOptions): Shelf {
  let waiting = 0;
  let less = Promise.withResolvers<void>();

  const left = (count: number): void => {
    waiting -= count;
    less.resolve();
    less = Promise.withResolvers();
  };

  const tryAgain = async (items: readonly Item[], afterMs: number): Promise<void> => {
    try {
      await wait(afterMs, undefined, { signal });
    } catch {
      // The process stops. What it still has in hand goes back to the stream.
      left(items.length);
      return;
    }
    for (const item of items) gathering.add(item);
  };

  const store = async (batch: readonly Item[]): Promise<boolean> => {
    try {
      await held.putAll(batch.map(({ delivery }) => delivery));
      return true;
    } catch (error) {
      log.warn({ err: error, count: batch.length }, 'deliveries could not be set aside, trying again');
      return false;
    }
  };

  const setAside = async (batch: readonly Item[]): Promise<void> => {
    if (!(await store(batch))) {
      // In halves, so that one that is never taken stands in the way of ever fewer.
      const middle = Math.ceil(batch.length / 2);
      void tryAgain(batch.slice(0, middle), retryMs);
      void tryAgain(batch.slice(middle), retryMs * 2);
      return;
    }
    const ids = new Set(batch.map(({ delivery }) => delivery.endpointId));
    try {
      await persist('finding a keeper', () => Promise.all([...ids].map((id) => keepers.ensure(id))));
      for (const { inHand } of batch) inHand.ack();
      numbers.setAside(batch.length);
    } catch {
      // The process stops, as above.
    }
    left(batch.length);
  };

  const gathering = openGathering<Item>({
    max: batchMax,
    // What arrives in one go is set aside in one go, once what came with it and can be sent is on its way.
    pause: () => wait(headStartMs),
    work: setAside,
  });

  return {
    put(inHand, delivery) {
      waiting += 1;
      gathering.add({ inHand, delivery });
    },
    room: () => (waiting < waitingMax ? undefined : less.promise),
    settled: () => gathering.settled(),
  };
}
