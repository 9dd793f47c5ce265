// Reads those partitions of one stream that are this replica's, each with its own consumer, and follows when a replica comes
// or goes or another number of partitions is in force. What a replica no longer reads it stops asking for; what it has in
// hand of it, it finishes.
import type { Partition } from '@integration-sync/contracts';
import type { Bus, PartitionsInForce, Reading, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { PartitionedStream } from '../streams/partitioning.ts';
import { openLooks } from '../tools/looks.ts';
import { openGenerations } from './generations.ts';
import { openHandover } from './handover.ts';
import { openOrder } from './plan.ts';

export interface PartitionReaderOptions {
  bus: Pick<Bus, 'consume' | 'consumerFacts' | 'ensureConsumer' | 'partitionsOf' | 'readStream'>;
  of: PartitionedStream;
  /** How many messages are asked for ahead of being taken, of each partition. */
  ahead: (number: number) => number;
  onMessage: (message: StreamMessage) => void | Promise<void>;
  /** What is older, or the replica before has in hand, is settled first. Otherwise it need only be handed out. */
  inOrder: boolean;
  /** Makes stream and consumers again, should nats-server have lost them. */
  ensure: () => Promise<void>;
  /** Those of this replica. */
  own: (number: number) => Partition[];
  log: Log;
}

export interface PartitionReader extends Reading {
  readonly of: PartitionedStream;
  look: () => void;
  /** As it was seen last; undefined before that. */
  readonly inForce: PartitionsInForce | undefined;
  /** Whether what comes now is read, by whichever replica: nothing older is before it. */
  readonly isCurrent: boolean;
  /** Those that this replica reads, whatever the number. */
  readonly read: readonly Partition[];
}

const everyMs = 1_000;

export function openPartitionReader(options: PartitionReaderOptions): PartitionReader {
  const { of, own, bus, log } = options;
  const readings = openReadings(options);
  const generationsOf = openGenerations(options);
  const whichToRead = openOrder();
  let inForce: PartitionsInForce | undefined;
  let isCurrent = false;
  let failingSince: number | undefined;

  const lookOnce = async (): Promise<void> => {
    inForce = await bus.partitionsOf(of.stream, of.noun);
    const numbers = whichToRead(await generationsOf(inForce), performance.now());
    isCurrent = numbers.includes(inForce.number);
    readings.read(numbers.flatMap(own));
  };
  const noting = async (): Promise<void> => {
    try {
      await lookOnce();
      failingSince = undefined;
    } catch (error) {
      failingSince ??= performance.now();
      throw error;
    }
  };
  const looks = openLooks(noting, { what: `partitions of ${of.stream}`, everyMs, log });
  looks.look();

  return {
    of,
    look: looks.look,
    get inForce() {
      return inForce;
    },
    get isCurrent() {
      return isCurrent;
    },
    get read() {
      return readings.partitions;
    },
    get failingForMs() {
      const lookingMs = failingSince === undefined ? 0 : performance.now() - failingSince;
      return Math.max(lookingMs, readings.failingForMs);
    },
    async [Symbol.asyncDispose]() {
      await looks[Symbol.asyncDispose]();
      await readings[Symbol.asyncDispose]();
    },
  };
}

interface Open {
  partition: Partition;
  stop: AbortController;
  reading: Reading | undefined;
}

/** The consumers that this replica reads now. */
interface Readings extends AsyncDisposable {
  /** These, and no others. */
  read(partitions: readonly Partition[]): void;
  readonly partitions: Partition[];
  readonly failingForMs: number;
}

function openReadings({ bus, of, ahead, onMessage, inOrder, ensure, log }: PartitionReaderOptions): Readings {
  /** By the name of the consumer. */
  const open = new Map<string, Open>();
  const ends = new Set<Promise<void>>();
  /** Since when one is to be read and cannot be, over all tries. */
  const unreadSince = new Map<string, number>();
  const handedOver = openHandover(bus, of.stream);

  const start = async (partition: Partition, one: Open): Promise<void> => {
    const consumer = of.consumerOf(partition);
    const make = (): Promise<void> => bus.ensureConsumer(of.stream, consumer);
    if (partition.number > 1) {
      await make();
      if (inOrder) await handedOver(consumer.name, one.stop.signal);
    }
    if (one.stop.signal.aborted) return;
    if (partition.number > 1) log.info({ consumer: consumer.name }, 'a partition is read here now');
    unreadSince.delete(consumer.name);
    one.reading = bus.consume(of.stream, consumer.name, {
      ahead: ahead(partition.number),
      onMessage,
      // A single partition is read by all replicas, and none takes it over.
      handsOver: partition.number > 1,
      async ensure() {
        await ensure();
        await make();
      },
    });
  };

  const begin = (name: string, partition: Partition): void => {
    const one: Open = { partition, stop: new AbortController(), reading: undefined };
    open.set(name, one);
    if (!unreadSince.has(name)) unreadSince.set(name, performance.now());
    start(partition, one).catch((error: unknown) => {
      log.debug({ err: error, consumer: name }, 'a partition cannot be read yet, trying again');
      if (open.get(name) === one) open.delete(name);
    });
  };

  const end = (name: string): void => {
    const one = open.get(name);
    if (one === undefined) return;
    if (one.partition.number > 1) log.info({ consumer: name }, 'a partition is no longer read here');
    open.delete(name);
    one.stop.abort();
    // One that is not read yet will not be any more.
    const ended = Promise.resolve(one.reading?.[Symbol.asyncDispose]()).finally(() => ends.delete(ended));
    ends.add(ended);
  };

  return {
    read(partitions) {
      const wanted = new Map(partitions.map((partition) => [of.consumerOf(partition).name, partition]));
      for (const name of open.keys()) if (!wanted.has(name)) end(name);
      for (const name of unreadSince.keys()) if (!wanted.has(name)) unreadSince.delete(name);
      for (const [name, partition] of wanted) if (!open.has(name)) begin(name, partition);
    },
    get partitions() {
      return [...open.values()].flatMap(({ partition, reading }) =>
        reading === undefined ? [] : [partition],
      );
    },
    get failingForMs() {
      const now = performance.now();
      return Math.max(
        0,
        ...open.values().map(({ reading }) => reading?.failingForMs ?? 0),
        ...unreadSince.values().map((since) => now - since),
      );
    },
    async [Symbol.asyncDispose]() {
      for (const name of open.keys()) end(name);
      await Promise.all(ends);
    },
  };
}
