// The partitions that this replica reads, of BUNDLES and of DELIVERIES: the same ones, as both are assigned alike.
import { partitionOf, type Partition } from '@integration-sync/contracts';
import type { StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { PartitionWaiting } from '../metrics.ts';
import type { Replicas } from '../retrying/replicas.ts';
import { partitionedBundles, partitionedDeliveries } from '../streams/partitioning.ts';
import { openAssignment } from './assignment.ts';
import {
  openPartitionReader,
  type PartitionReader,
  type PartitionReaderOptions,
} from './partition-reader.ts';
import { partitionsToRead } from './plan.ts';

export interface Partitions extends AsyncDisposable {
  readonly bundles: PartitionReader;
  readonly deliveries: PartitionReader;
  /** The number in force. */
  readonly number: number;
  /** How many of them this replica reads. */
  readonly read: number;
  /** What no replica has taken yet of them. */
  waiting(): Promise<PartitionWaiting[]>;
  /** Whether this replica reads the partition of the integration. One that is not divided every replica reads. */
  isMine(integration: string): boolean;
  /** The consumer by which the integration's deliveries leave the shared way; undefined while older ones do. */
  sharedConsumerOf(integration: string): string | undefined;
}

export interface PartitionsOptions {
  bus: PartitionReaderOptions['bus'];
  replicas: Pick<Replicas, 'self' | 'read' | 'readers'>;
  onBundle: (message: StreamMessage) => void;
  onParcel: (message: StreamMessage) => void | Promise<void>;
  /** Of one partition that is the whole, and of each of so many. */
  bundlesAhead: (number: number) => number;
  parcelsAhead: (number: number) => number;
  ensure: () => Promise<void>;
  log: Log;
}

export function openPartitions(options: PartitionsOptions): Partitions {
  const { bus, replicas, onBundle, onParcel, bundlesAhead, parcelsAhead, ensure, log } = options;
  const closing = new AsyncDisposableStack();
  const owners = openAssignment(replicas.readers);
  const own = (number: number): Partition[] => partitionsToRead(number, replicas.self, owners);
  const both = { bus, ensure, own, log };
  const bundles = closing.use(
    openPartitionReader({ ...both, of: partitionedBundles, ahead: bundlesAhead, onMessage: onBundle, inOrder: true }), // prettier-ignore
  );
  const deliveries = closing.use(
    openPartitionReader({ ...both, of: partitionedDeliveries, ahead: parcelsAhead, onMessage: onParcel, inOrder: false }), // prettier-ignore
  );
  // First of all this replica says that it no longer reads, so that the others take over what it stops reading.
  closing.use(
    replicas.read(() => {
      bundles.look();
      deliveries.look();
    }),
  );

  const ofIntegration = (integration: string): Partition | undefined => {
    const number = deliveries.inForce?.number;
    return number === undefined ? undefined : { number, partition: partitionOf(integration, number) };
  };

  return {
    bundles,
    deliveries,
    get number() {
      return deliveries.inForce?.number ?? 1;
    },
    get read() {
      return Math.min(current(bundles).length, current(deliveries).length);
    },
    async waiting() {
      const all = [bundles, deliveries].flatMap((one) =>
        current(one).map((partition) => ({ one, partition })),
      );
      return Promise.all(
        all.map(async ({ one: { of }, partition }) => {
          const { pending } = await bus.consumerFacts(of.stream, of.consumerOf(partition).name);
          return { stream: of.stream, partition: partition.partition, messages: pending };
        }),
      );
    },
    isMine(integration) {
      const of = ofIntegration(integration);
      if (of === undefined) return false;
      return of.number === 1 || owners(of.number)[of.partition] === replicas.self;
    },
    sharedConsumerOf(integration) {
      const of = ofIntegration(integration);
      return of === undefined || !deliveries.isCurrent
        ? undefined
        : partitionedDeliveries.consumerOf(of).name;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const current = ({ read, inForce }: PartitionReader): Partition[] =>
  read.filter(({ number }) => number === inForce?.number);
