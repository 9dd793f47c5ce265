// Events to deliveries: the bundles that came since the last batch are one batch, with one look-up for all integrations
// in it, and parcels of what goes where, by the way that each integration's take (ways.ts). Their ids are made of what is
// in them, so that nothing is stored twice where the same bundles are one batch again after their replica has died.
//
//   the bundles of an integration make  then
//   ──────────────────────────────────  ─────────────────────────────────────────────────────────────────
//   nothing                             they are settled
//   a little, for the shared way        they are settled once that is stored; the next batch waits for it
//   much, for the integration's own     the same beside the batches that follow (bulk.ts)
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Tracing } from '@integration-sync/runtime/tracing';
import type { WebhookMetrics } from '../metrics.ts';
import type { Way } from '../streams/subjects.ts';
import { wayOf, type Unsettled } from '../streams/ways.ts';
import { openBatchQueue } from '../tools/batch-queue.ts';
import type { Retry } from '../tools/retry.ts';
import { askOn } from './asking.ts';
import { openBulk } from './bulk.ts';
import {
  batchEvents,
  bundleOf,
  countEvents,
  matchBundles,
  takenOf,
  type BundleLease,
  type Matched,
  type Taken,
} from './bundles.ts';
import { parcelChunksOf } from './parcels.ts';
import { openSettling } from './settling.ts';
import { openStoring } from './storing.ts';
import type { Subscribers } from './subscribers.ts';

export interface Fanout {
  /** For the consumer of the stream, which bounds how many bundles are under way. */
  take: (message: StreamMessage) => void;
  /** Resolves when it keeps up with the events that come, or after a while; undefined if it does now. */
  keptUp(): Promise<void> | undefined;
  settled(): Promise<void>;
}

export interface FanoutOptions {
  subscribers: Pick<Subscribers, 'of'>;
  bus: Pick<Bus, 'publishBatch'>;
  leases: { take: (message: StreamMessage) => BundleLease | undefined };
  metrics: Pick<WebhookMetrics, 'fanoutLag' | 'fannedOut'>;
  countUnsettled: () => Promise<Unsettled>;
  /** Some integration has something on a way of its own. */
  onBacklog: () => void;
  tracing?: Tracing | undefined;
  /** Gives up when the process stops. */
  retry: Retry;
  /** Fires when the process stops: what cannot be stored then is given back. */
  signal: AbortSignal;
  log: Log;
}

/** It is behind when more events than that wait while a batch is under way. */
const waitingMax = 500;
const keptUpWithinMs = 500;

export function openFanout(options: FanoutOptions): Fanout {
  const { leases, onBacklog, tracing, log } = options;
  const { subscribers, countUnsettled } = askOn(options, options.retry);

  const match = (bundles: readonly Taken[]) => matchBundles(subscribers, bundles, log);
  const store = openStoring(options);
  const { settle, giveBack } = openSettling(options);
  const settleBulk = (matched: readonly Matched[]): void => {
    settle(matched);
    onBacklog();
  };
  const bulk = openBulk({ match, store, settle: settleBulk, giveBack });

  const byWay = async (matched: readonly Matched[]): Promise<Partial<Record<Way | 'nowhere', Matched[]>>> => {
    if (matched.every(({ deliveries }) => deliveries === 0)) return { nowhere: [...matched] };
    const unsettled = await countUnsettled();
    return Object.groupBy(matched, ({ integration, deliveries }) =>
      deliveries === 0 ? 'nowhere' : wayOf(integration, deliveries, unsettled),
    );
  };

  const fanOut = async (bundles: readonly Taken[]): Promise<void> => {
    let unsettled = bundles;
    try {
      const { nowhere = [], shared = [], backlog = [] } = await byWay(await match(bundles));
      settle(nowhere);
      unsettled = [...shared, ...backlog].flatMap((one) => one.bundles);
      for (const chunk of parcelChunksOf(shared, 'shared')) await store(chunk);
      settle(shared);
      for (const { bundles: some } of backlog) for (const bundle of some) bulk.add(bundle);
    } catch (error) {
      giveBack(unsettled, error);
    }
  };

  const work = async (batch: readonly Taken[]): Promise<void> => {
    waiting -= countEvents(batch);
    if (waiting <= waitingMax) less.resolve();
    const { behind = [], others = [] } = Object.groupBy(batch, ({ integration }) =>
      bulk.has(integration) ? 'behind' : 'others',
    );
    for (const bundle of behind) bulk.add(bundle);
    if (others.length > 0) await fanOut(others);
  };
  let waiting = 0;
  let less = Promise.withResolvers<void>();
  const queue = openBatchQueue<Taken>({
    ...batchEvents,
    // Events that arrive together are fanned out together.
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    work,
  });

  return {
    take(message) {
      const bundle = bundleOf(message);
      if (bundle === undefined) {
        message.term('not a bundle of events');
        return;
      }
      const lease = leases.take(message);
      if (lease === undefined) return;
      if (waiting <= waitingMax && waiting + bundle.count > waitingMax) less = Promise.withResolvers();
      waiting += bundle.count;
      queue.add(takenOf(lease, bundle, tracing));
    },
    keptUp() {
      if (waiting <= waitingMax) return undefined;
      return Promise.race([less.promise, wait(keptUpWithinMs, undefined, { ref: false })]);
    },
    async settled() {
      await queue.settled();
      await bulk.settled();
    },
  };
}
