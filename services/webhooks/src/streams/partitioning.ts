// The two streams that are divided by integration, and the consumers of their partitions. With one partition it is the
// consumer that has always been there; with more, each has a consumer of its own, which nats-server drops when no replica
// has read it for a while, as another number is in force then.
import {
  bundlesStream,
  bundlesStreamSpec,
  partitionFilters,
  type Partition,
  type PartitionedNoun,
} from '@integration-sync/contracts';
import type { ConsumerSpec, StreamSpec } from '@integration-sync/runtime/bus';
import {
  deliverConsumer,
  deliveriesStream,
  fanoutConsumer,
  inPartitions,
  streamSpecs,
  type WebhooksStreamSettings,
} from './streams.ts';
import { deliveriesNoun } from './subjects.ts';

export interface PartitionedStream {
  stream: string;
  noun: PartitionedNoun;
  consumerOf(partition: Partition): ConsumerSpec;
}

/** BUNDLES, and the streams of webhooks, as this process would have them. */
export function allSpecs(settings: WebhooksStreamSettings): StreamSpec[] {
  const bundles = bundlesStreamSpec(settings);
  const divided = inPartitions('bundles', settings);
  return [
    { ...bundles, ...divided, settings: { ...bundles.settings, ...divided.settings } },
    ...streamSpecs(settings),
  ];
}

const inactiveAfterMs = 10 * 60 * 1000;

/**
 * Many partitions have less unacknowledged each, so that what is under way over all replicas grows by four at most;
 * down to a minimum, below which a replica waits for nats-server more than it works.
 */
const ackPendingOf = (all: number, { number }: Partition, least: number): number =>
  Math.min(all, Math.max(least, Math.floor((4 * all) / number)));

const ofPartition = (
  whole: ConsumerSpec,
  noun: PartitionedNoun,
  of: Partition,
  least: number,
): ConsumerSpec =>
  of.number === 1
    ? whole
    : {
        ...whole,
        name: `${whole.name}-${of.partition}-of-${of.number}`,
        filterSubjects: partitionFilters(noun, of),
        ackPendingMax: ackPendingOf(whole.ackPendingMax, of, least),
        inactiveAfterMs,
      };

export const partitionedBundles: PartitionedStream = {
  stream: bundlesStream,
  noun: 'bundles',
  consumerOf: (partition) => ofPartition(fanoutConsumer, 'bundles', partition, 16),
};

export const partitionedDeliveries: PartitionedStream = {
  stream: deliveriesStream,
  noun: deliveriesNoun,
  consumerOf: (partition) => ofPartition(deliverConsumer, deliveriesNoun, partition, 1_000),
};

const partitionConsumer = new RegExp(`^(${fanoutConsumer.name}|${deliverConsumer.name})-\\d+-of-\\d+$`);

/** Replicas make them as they read, and nats-server drops them. */
export const isPartitionConsumer = (stream: string, consumer: string): boolean =>
  (stream === bundlesStream || stream === deliveriesStream) && partitionConsumer.test(consumer);
