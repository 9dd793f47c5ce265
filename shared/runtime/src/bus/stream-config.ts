// The configuration that this release wants for streams and consumers, as nats-server takes it, and its comparison with the
// configuration that a stream has. ensure-streams.ts changes a stream where they differ. Pure.
//
//   a setting of the stream        the release wants         the stream is compared with
//   ─────────────────────────────  ────────────────────────  ─────────────────────────────────────────────
//   copies, days, bytes, …         what the settings say     quantities.ts
//   subjects, retention, …         a value                   that value
//   republish, mirror, no_ack, …   nothing                   nats-server's default
//   placement, metadata            what operators choose     nothing
import { isDeepStrictEqual } from 'node:util';
import {
  AckPolicy,
  DeliverPolicy,
  ReplayPolicy,
  StorageType,
  StoreCompression,
  type ConsumerConfig,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { compareQuantities, type Comparison, type Quantities } from './quantities.ts';

export interface StreamSpec extends Quantities {
  name: string;
  description: string;
  subjects: readonly string[];
  retention: 'limits' | 'workqueue' | 'interest';
  discard: 'new' | 'old';
  duplicateWindowMs?: number;
  atomicBatches?: boolean;
  /**
   * A single nats-server compresses each block of the stream on the disk once the block is full; unless given, an operator chooses.
   * With several copies, nats-server 2.15 truncates a stream at each start to the snapshot of its Raft log, and takes a compressed
   * block for an uncompressed one: "error reading compression reader". A stream of a cluster may get copies at any time, and blocks
   * from before a change stay as they are, so a cluster compresses nothing.
   */
  compression?: 's2';
  /** How nats-server changes the subject of a message before it stores the message. */
  subjectTransform?: { src: string; dest: string };
  /** Under which subject nats-server publishes a message again once it has stored the message. */
  republish?: { src: string; dest: string };
}

export interface ConsumerSpec {
  name: string;
  description: string;
  filterSubjects: readonly string[];
  ackWaitMs: number;
  ackPendingMax: number;
  /** Where a new consumer begins; an existing consumer keeps its offset. */
  deliver: ConsumerBegin;
  /** After this time without a reader, nats-server removes the consumer. If left out, the consumer stays. */
  inactiveMs?: number | undefined;
}

export type ConsumerBegin = 'all' | 'new' | { sequence: number } | { time: Date };

const nanos = (ms: number): number => ms * 1_000_000;

export function streamConfig(
  spec: StreamSpec,
  isClustered: boolean,
): Partial<StreamConfig> & { name: string } {
  return {
    name: spec.name,
    description: spec.description,
    subjects: [...spec.subjects],
    storage: StorageType.File,
    retention: spec.retention,
    discard: spec.discard,
    duplicate_window: nanos(spec.duplicateWindowMs ?? 120_000),
    allow_direct: true,
    ...(spec.atomicBatches === true ? { allow_atomic: true } : {}),
    ...(spec.compression === undefined
      ? {}
      : { compression: isClustered ? StoreCompression.None : StoreCompression.S2 }),
    ...(spec.subjectTransform === undefined ? {} : { subject_transform: spec.subjectTransform }),
    ...(spec.republish === undefined ? {} : { republish: spec.republish }),
  };
}

export const consumerConfig = (spec: ConsumerSpec): Partial<ConsumerConfig> => ({
  ...changeableOf(spec),
  ...beginOf(spec.deliver),
});

/** The part of a consumer's configuration that can be changed. nats-server never changes where an existing consumer begins. */
export const changeableOf = (spec: ConsumerSpec): Partial<ConsumerConfig> => ({
  durable_name: spec.name,
  description: spec.description,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(spec.ackWaitMs),
  max_ack_pending: spec.ackPendingMax,
  max_deliver: -1,
  replay_policy: ReplayPolicy.Instant,
  filter_subjects: [...spec.filterSubjects],
  ...(spec.inactiveMs === undefined ? {} : { inactive_threshold: nanos(spec.inactiveMs) }),
});

function beginOf(deliver: ConsumerBegin): Partial<ConsumerConfig> {
  if (typeof deliver === 'string') return { deliver_policy: deliver };
  return 'sequence' in deliver
    ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: deliver.sequence }
    : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: deliver.time.toISOString() };
}

export const filtersOf = (config: Partial<ConsumerConfig>): string[] =>
  config.filter_subjects ?? (config.filter_subject ? [config.filter_subject] : []);

export function beganAt({ deliver }: ConsumerSpec, found: Partial<ConsumerConfig>): boolean {
  const { deliver_policy: policy, opt_start_seq: first, opt_start_time: from } = beginOf(deliver);
  return (
    found.deliver_policy === policy &&
    (first === undefined || found.opt_start_seq === first) &&
    (from === undefined || Date.parse(found.opt_start_time ?? '') === Date.parse(from))
  );
}

export function differences(wanted: object, found: object): string[] {
  const there = new Map(Object.entries(found));
  return Object.entries(wanted)
    .filter(([name, value]) => !isDeepStrictEqual(there.get(name), value))
    .map(([name]) => name);
}

/** How a stream differs from this release and from the settings of this process. */
export interface StreamComparison extends Comparison {
  /** Settings in which the stream differs from this release; `ensureStream` changes these. */
  differing: string[];
  /** Of a stream of this system: settings that this release leaves unset. Of any other stream: subjects of this system that it stores. */
  foreign: string[];
}

/** STREAM.INFO names a cluster for servers of a cluster, and for a single server whose configuration names one. */
export const isOfCluster = ({ cluster }: Pick<StreamInfo, 'cluster'>): boolean => Boolean(cluster?.name);

export const compareStream = (spec: StreamSpec, info: StreamInfo): StreamComparison => ({
  ...compareQuantities(spec, info.config),
  differing: differences(streamConfig(spec, isOfCluster(info)), info.config),
  foreign: foreignSettings(spec, info.config),
});

/** Limits that nats-server sets to -1 (no limit) in a stream that was created without them. */
const limitsOfStream = new Set(['max_consumers', 'max_msgs', 'max_msg_size', 'max_msgs_per_subject']);
const noLimit = -1;
/** Settings not compared here: operators choose placement, compression and metadata; quantities.ts compares the others. */
const notCompared = new Set(['placement', 'compression', 'metadata', 'num_replicas', 'max_age', 'max_bytes']);

function foreignSettings(spec: StreamSpec, found: Partial<StreamConfig>): string[] {
  const said = streamConfig(spec, false);
  const isOurs = (name: string): boolean =>
    Object.hasOwn(said, name) ||
    notCompared.has(name) ||
    (name === 'max_msgs_per_subject' && spec.messagesPerSubjectMax !== undefined);
  return Object.entries(found)
    .filter(([name, value]) => !isOurs(name) && !isUnset(name, value))
    .map(([name]) => name);
}

const isUnset = (name: string, value: unknown): boolean =>
  !value || (limitsOfStream.has(name) && value === noLimit) || isDeepStrictEqual(value, {});

/** The first tokens of subjects that only the services of this system use. */
const ourTokens = new Set(['svc', 'webhooks', 'events', 'event-batches', 'attempts', '*', '>']);

export const nothingDiffers: StreamComparison = { differing: [], foreign: [], changes: [], left: [] };

/** A stream of another system over our subjects would store requests and replies of the services. A mirror has no subjects. */
export const compareForeign = ({ subjects = [] }: Partial<StreamConfig>): StreamComparison => ({
  ...nothingDiffers,
  foreign: subjects.filter((subject) => {
    const [first = ''] = subject.split('.');
    return ourTokens.has(first) || first.startsWith('_INBOX');
  }),
});
