// Setting deliveries aside: from the stream's consumer, whose places are shared by all endpoints, into what is
// held for one endpoint. Many at a time, because nats-server syncs its disk once per batch. Until it is held, and a
// replica owns the endpoint, this replica extends its lease: given back to the stream, it would take its neighbours in
// the message along, once a second.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '@integration-sync/runtime/log';
import type { WebhookMetrics } from '../metrics.ts';
import type { Lease } from '../streams/leases.ts';
import type { Delivery } from '../streams/messages.ts';
import type { Way } from '../streams/subjects.ts';
import { openBatchQueue } from '../tools/batch-queue.ts';
import type { Retry } from '../tools/retry.ts';
import type { Held } from './held.ts';
import type { Owners } from './owners.ts';

export interface SetAside {
  put(lease: Lease, delivery: Delivery): void;
  /** Resolves when there may be room for more that comes by this way; undefined if there is now. */
  room(way: Way): Promise<void> | undefined;
  /** Resolves when nothing is on its way. */
  settled(): Promise<void>;
}

export interface SetAsideOptions {
  held: Pick<Held, 'putAll'>;
  owners: Pick<Owners, 'ensure'>;
  metrics: Pick<WebhookMetrics, 'setAside'>;
  /** Gives up when the process stops. */
  retry: Retry;
  /** The process stops. */
  signal: AbortSignal;
  log: Log;
}

interface Item {
  lease: Lease;
  delivery: Delivery;
}

const headStartMs = 10;
const batchMax = 1_000;
/** What can wait leaves room for the others. */
const waitingMax: Readonly<Record<Way, number>> = { shared: 5_000, backlog: 2_500 };
const retryMs = 1_000;

export function openSetAside({ held, owners, metrics, retry, signal, log }: SetAsideOptions): SetAside {
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
      // The process stops. What it still leases goes back to the stream.
      left(items.length);
      return;
    }
    for (const item of items) queue.add(item);
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
      await retry('finding a keeper', () => Promise.all([...ids].map((id) => owners.ensure(id))));
      for (const { lease } of batch) lease.ack();
      metrics.setAside(batch.length);
    } catch {
      // The process stops, as above.
    }
    left(batch.length);
  };

  const queue = openBatchQueue<Item>({
    max: batchMax,
    // What arrives in one go is set aside in one go, once what came with it and can be sent is on its way.
    pause: () => wait(headStartMs),
    work: setAside,
  });

  return {
    put(lease, delivery) {
      waiting += 1;
      queue.add({ lease, delivery });
    },
    room: (way) => (waiting < waitingMax[way] ? undefined : less.promise),
    settled: () => queue.settled(),
  };
}
