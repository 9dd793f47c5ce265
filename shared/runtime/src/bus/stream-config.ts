// What this release says of streams and consumers, in its own words and in nats-server's; and what a stream has beside that.
// A process mends what its release says (streams.ts). Pure.
//
//   a setting of the stream        this release says         is compared with
//   ─────────────────────────────  ────────────────────────  ─────────────────────────────────────────────
//   copies, days, bytes, …         by settings               quantities.ts
//   subjects, retention, …         a value                   that value
//   republish, mirror, no_ack, …   nothing                   the value of a stream that is made without it
//   placement, compression, …      nothing: operators do     nothing
import { isDeepStrictEqual } from 'node:util';
import {
  AckPolicy,
  ReplayPolicy,
  StorageType,
  type ConsumerConfig,
  type StreamConfig,
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
  /** How nats-server changes a subject before it stores its message. */
  subjectTransform?: { src: string; dest: string };
}

export interface ConsumerSpec {
  name: string;
  description: string;
  filterSubjects: readonly string[];
  ackWaitMs: number;
  ackPendingMax: number;
  /** Where a consumer that is made now begins; one that is there keeps its place. */
  deliver: 'all' | 'new';
}

const nanos = (ms: number): number => ms * 1_000_000;

export function streamConfig(spec: StreamSpec): Partial<StreamConfig> & { name: string } {
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
    ...(spec.subjectTransform === undefined ? {} : { subject_transform: spec.subjectTransform }),
  };
}

export function consumerConfig(spec: ConsumerSpec): Partial<ConsumerConfig> {
  return {
    durable_name: spec.name,
    description: spec.description,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(spec.ackWaitMs),
    max_ack_pending: spec.ackPendingMax,
    max_deliver: -1,
    deliver_policy: spec.deliver,
    replay_policy: ReplayPolicy.Instant,
    filter_subjects: [...spec.filterSubjects],
  };
}

export function differences(wanted: object, found: object): string[] {
  const there = new Map(Object.entries(found));
  return Object.entries(wanted)
    .filter(([name, value]) => !isDeepStrictEqual(there.get(name), value))
    .map(([name]) => name);
}

/** What a stream has beside what this release and the settings of this process say of it. */
export interface StreamComparison extends Comparison {
  /** Settings that are not those of the release, and that `ensureStream` changes. */
  differing: string[];
  /** Settings that the release does not say; of a stream of others, the subjects of this system that it stores. */
  foreign: string[];
}

export const compareStream = (spec: StreamSpec, config: StreamConfig): StreamComparison => ({
  ...compareQuantities(spec, config),
  differing: differences(streamConfig(spec), config),
  foreign: foreignSettings(spec, config),
});

/** Limits that nats-server writes as "no limit" where a stream was made without them. */
const limitsOfStream = new Set(['max_consumers', 'max_msgs', 'max_msg_size', 'max_msgs_per_subject']);
const noLimit = -1;
const ofOperators = new Set(['placement', 'compression', 'metadata']);
/** Named in quantities.ts. */
const ofQuantities = new Set(['num_replicas', 'max_age', 'max_bytes']);

function foreignSettings(spec: StreamSpec, found: Partial<StreamConfig>): string[] {
  const said = streamConfig(spec);
  const isOurs = (name: string): boolean =>
    Object.hasOwn(said, name) ||
    ofOperators.has(name) ||
    ofQuantities.has(name) ||
    (name === 'max_msgs_per_subject' && spec.messagesPerSubjectMax !== undefined);
  return Object.entries(found)
    .filter(([name, value]) => !isOurs(name) && !isUnset(name, value))
    .map(([name]) => name);
}

const isUnset = (name: string, value: unknown): boolean =>
  !value || (limitsOfStream.has(name) && value === noLimit) || isDeepStrictEqual(value, {});

/** The first tokens of subjects that only the services of this system use. */
const ourTokens = new Set(['svc', 'webhooks', 'events', 'event-batches', 'attempts', '*', '>']);

/** A stream that is none of ours stores under such subjects what the services say to each other. A mirror has no subjects. */
export const compareForeign = ({ subjects = [] }: Partial<StreamConfig>): StreamComparison => ({
  differing: [],
  foreign: subjects.filter((subject) => {
    const [first = ''] = subject.split('.');
    return ourTokens.has(first) || first.startsWith('_INBOX');
  }),
  changes: [],
  left: [],
});
