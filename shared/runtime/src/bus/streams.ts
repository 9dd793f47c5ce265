// Streams and their consumers, ensured at start: made where they are missing, compared where they are there,
// and brought to what the code says where NATS lets them be changed.
import { isDeepStrictEqual } from 'node:util';
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  type ConsumerConfig,
  type StreamConfig,
} from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { patiently } from './patience.ts';

export interface StreamSpec {
  name: string;
  description: string;
  subjects: readonly string[];
  retention: 'limits' | 'workqueue' | 'interest';
  discard: 'new' | 'old';
  maxAgeMs?: number;
  messagesPerSubjectMax?: number;
  duplicateWindowMs?: number;
  atomicBatches?: boolean;
  replicas?: number;
}

export interface ConsumerSpec {
  name: string;
  description: string;
  filterSubjects?: readonly string[];
  ackWaitMs: number;
  ackPendingMax: number;
  /** Where a consumer that is made now begins; one that is there keeps its place. */
  deliver: 'all' | 'new';
  /** The server drops it when no process has read it for so long; kept for ever unless given. */
  inactiveAfterMs?: number;
}

export interface ConsumerFacts {
  /** The place in its stream up to which it has handed out what is for it. */
  handedOutThrough: number;
  /** Messages that it has not handed out yet. */
  pending: number;
}

const nanos = (ms: number): number => ms * 1_000_000;
const codes = {
  streamNotFound: 10_059,
  consumerNotFound: 10_014,
  streamNameInUse: 10_058,
};

export async function ensureStream(connection: Connection, spec: StreamSpec): Promise<void> {
  const wanted = streamConfig(spec);
  await patiently(connection, `stream ${spec.name}`, async () => {
    const found = await unlessMissing(connection.manager.streams.info(spec.name), codes.streamNotFound);
    if (found === undefined) {
      await unlessMissing(connection.manager.streams.add(wanted), codes.streamNameInUse);
      connection.log.info({ stream: spec.name }, 'stream made');
      return;
    }
    const differing = differences(wanted, found.config);
    if (differing.length === 0) return;
    await connection.manager.streams.update(spec.name, wanted);
    connection.log.warn({ stream: spec.name, differing }, 'stream differed and was changed');
  });
}

export async function ensureConsumer(
  connection: Connection,
  stream: string,
  spec: ConsumerSpec,
): Promise<void> {
  const wanted = consumerConfig(spec);
  await patiently(connection, `consumer ${spec.name}`, async () => {
    const found = await unlessMissing(
      connection.manager.consumers.info(stream, spec.name),
      codes.consumerNotFound,
    );
    if (found === undefined) {
      await connection.manager.consumers.add(stream, wanted);
      connection.log.info({ stream, consumer: spec.name }, 'consumer made');
      return;
    }
    const { deliver_policy: _place, ...changeable } = wanted;
    const differing = differences(changeable, found.config);
    if (differing.length === 0) return;
    await connection.manager.consumers.update(stream, spec.name, changeable);
    connection.log.warn({ stream, consumer: spec.name, differing }, 'consumer differed and was changed');
  });
}

export async function hasConsumer(
  connection: Connection,
  stream: string,
  consumer: string,
): Promise<boolean> {
  const info = connection.whileConnected(() => connection.manager.consumers.info(stream, consumer));
  return (await unlessMissing(info, codes.consumerNotFound)) !== undefined;
}

export async function consumerFacts(
  connection: Connection,
  stream: string,
  consumer: string,
): Promise<ConsumerFacts> {
  const info = await connection.whileConnected(() => connection.manager.consumers.info(stream, consumer));
  return { handedOutThrough: info.delivered.stream_seq, pending: info.num_pending };
}

function streamConfig(spec: StreamSpec): Partial<StreamConfig> & { name: string } {
  return {
    name: spec.name,
    description: spec.description,
    subjects: [...spec.subjects],
    storage: StorageType.File,
    retention: {
      limits: RetentionPolicy.Limits,
      workqueue: RetentionPolicy.Workqueue,
      interest: RetentionPolicy.Interest,
    }[spec.retention],
    discard: spec.discard === 'new' ? DiscardPolicy.New : DiscardPolicy.Old,
    max_age: nanos(spec.maxAgeMs ?? 0),
    max_msgs_per_subject: spec.messagesPerSubjectMax ?? -1,
    duplicate_window: nanos(spec.duplicateWindowMs ?? 120_000),
    num_replicas: spec.replicas ?? 1,
    allow_direct: true,
    ...(spec.atomicBatches === true ? { allow_atomic: true } : {}),
  };
}

function consumerConfig(spec: ConsumerSpec): Partial<ConsumerConfig> {
  return {
    durable_name: spec.name,
    description: spec.description,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(spec.ackWaitMs),
    max_ack_pending: spec.ackPendingMax,
    max_deliver: -1,
    deliver_policy: spec.deliver === 'all' ? DeliverPolicy.All : DeliverPolicy.New,
    replay_policy: ReplayPolicy.Instant,
    ...(spec.filterSubjects === undefined ? {} : { filter_subjects: [...spec.filterSubjects] }),
    ...(spec.inactiveAfterMs === undefined ? {} : { inactive_threshold: nanos(spec.inactiveAfterMs) }),
  };
}

function differences(wanted: object, found: object): string[] {
  const there = new Map(Object.entries(found));
  return Object.entries(wanted)
    .filter(([name, value]) => !isDeepStrictEqual(there.get(name), value))
    .map(([name]) => name);
}

async function unlessMissing<T>(work: Promise<T>, code: number): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === code) return undefined;
    throw error;
  }
}
