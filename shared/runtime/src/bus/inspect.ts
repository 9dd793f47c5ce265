// What nats-server has: streams and their consumers as they are, beside what they should be. Nothing is changed here;
// streams.ts does that.
import { Failure } from '@integration-sync/contracts';
import { JetStreamApiError, type ConsumerInfo, type StreamConfig, type StreamInfo } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import {
  amount,
  compareQuantities,
  quantityChanges,
  quantityIn,
  type Difference,
  type QuantityChange,
} from './quantities.ts';
import {
  differences,
  foreignSettings,
  streamConfig,
  subjectsOfOurs,
  type StreamSpec,
} from './stream-config.ts';
import { isForbidden } from './refusals.ts';
import { findStream } from './streams.ts';

export interface InspectedStream {
  name: string;
  /** Whether it is one of those that were asked for. */
  isExpected: boolean;
  /** No leader: it is there, and nats-server can neither take nor hand out anything of it. */
  standing: 'there' | 'missing' | 'leaderless';
  /** Of one that is there. */
  facts: InspectedFacts | undefined;
  /** Settings that are not those of the release, and that `ensureStream` would change. */
  differing: string[];
  /** Settings that the release does not say; of a stream of others, the subjects of this system that it stores. */
  foreign: string[];
  /** Quantities that `ensureStream` would change. */
  changes: QuantityChange[];
  /** Quantities that differ, and that it would leave. */
  left: readonly Difference[];
  consumers: InspectedConsumer[];
}

export interface InspectedFacts {
  subjects: readonly string[];
  replicas: number;
  /** Undefined on a single server. */
  cluster: string | undefined;
  leader: string | undefined;
  followers: { server: string; current: boolean; offline: boolean; behind: number }[];
  messages: number;
  bytes: number;
  /** Infinity: no limit. */
  bytesMax: number;
  /** Infinity: for ever. */
  maxAgeMs: number;
  /** Of the oldest message; undefined where there is none. */
  oldestAt: Date | undefined;
}

export interface InspectedConsumer {
  name: string;
  /** It stays where no process reads it. */
  isLasting: boolean;
  facts: ConsumerFigures;
}

export interface ConsumerFigures {
  filters: readonly string[];
  /** Not handed out yet. */
  pending: number;
  /** Handed out and not acknowledged. */
  unacknowledged: number;
  unacknowledgedMax: number;
  /** Requests for messages that wait at nats-server: of readers that have room. */
  readersWaiting: number;
  lastHandedOutAt: Date | undefined;
  leader: string | undefined;
}

/** Those that are expected, in their order, and then all others. */
export async function inspectStreams(
  connection: Connection,
  expected: readonly StreamSpec[],
): Promise<InspectedStream[]> {
  const all = await askJetStream(connection, () => Array.fromAsync(connection.manager.streams.list()));
  const found = new Map(all.map((info) => [info.config.name, info]));
  const inspected: InspectedStream[] = [];
  for (const spec of expected) {
    // The list leaves out a stream that has no leader.
    const info = found.get(spec.name) ?? (await lookFor(connection, spec.name));
    if (info === 'missing' || info === 'leaderless') {
      inspected.push({ ...nothingOf(spec.name), isExpected: true, standing: info, consumers: [] });
    } else inspected.push(await inspectOne(connection, info, spec));
    found.delete(spec.name);
  }
  for (const info of found.values()) inspected.push(await inspectOne(connection, info, undefined));
  return inspected;
}

/** Says so where JetStream is silent, be it from the first question on, or in the middle of them. */
async function askJetStream<T>(connection: Connection, ask: () => Promise<T>): Promise<T> {
  try {
    return await connection.whileConnected(ask);
  } catch (error) {
    if (!isSilence(connection, error)) throw error;
    throw new Failure(
      'unavailable',
      'NATS is up, and its JetStream does not answer: more than half of the servers of a cluster must be up, and each ' +
        'must have JetStream.',
      { cause: error },
    );
  }
}

/** Whatever nats-server refuses in so many words is something else. */
const isSilence = ({ connected }: Connection, error: unknown): boolean =>
  connected && !isForbidden(error) && !(error instanceof JetStreamApiError && error.status !== 503);

const nothingOf = (name: string) => ({
  name,
  facts: undefined,
  differing: [],
  foreign: [],
  changes: [],
  left: [],
});

async function lookFor(connection: Connection, name: string): Promise<StreamInfo | 'missing' | 'leaderless'> {
  try {
    return (await connection.whileConnected(() => findStream(connection, name))) ?? 'missing';
  } catch (error) {
    // Its leader answers for a stream.
    if (!isSilence(connection, error)) throw error;
    return 'leaderless';
  }
}

async function inspectOne(
  connection: Connection,
  info: StreamInfo,
  spec: StreamSpec | undefined,
): Promise<InspectedStream> {
  const { name } = info.config;
  const there = await askJetStream(connection, () =>
    Array.fromAsync(connection.manager.consumers.list(name)),
  );
  const hasLeader = info.cluster === undefined || (info.cluster.leader ?? '') !== '';
  return {
    name,
    isExpected: spec !== undefined,
    standing: hasLeader ? 'there' : 'leaderless',
    facts: factsOf(info),
    ...compare(spec, info.config),
    consumers: there.map(inspectConsumer),
  };
}

function compare(spec: StreamSpec | undefined, config: StreamConfig) {
  if (spec === undefined)
    return { differing: [], foreign: subjectsOfOurs(config.subjects), changes: [], left: [] };
  const { changes, left } = compareQuantities(spec, config);
  return {
    differing: differences(streamConfig(spec), config),
    foreign: foreignSettings(spec, config),
    left,
    changes: quantityChanges(config, changes),
  };
}

function factsOf({ config, state, cluster }: StreamInfo): InspectedFacts {
  return {
    subjects: config.subjects,
    replicas: config.num_replicas,
    // A single server names no cluster.
    cluster: cluster?.name || undefined,
    leader: cluster?.leader || undefined,
    followers: (cluster?.replicas ?? []).map(({ name, current, offline, lag }) => ({
      server: name,
      current,
      offline,
      // nats-server leaves out a 0.
      behind: lag > 0 ? lag : 0,
    })),
    messages: state.messages,
    bytes: state.bytes,
    bytesMax: quantityIn(config, 'bytesMax'),
    maxAgeMs: quantityIn(config, 'maxAgeMs'),
    oldestAt: state.messages === 0 ? undefined : new Date(state.first_ts),
  };
}

function inspectConsumer(info: ConsumerInfo): InspectedConsumer {
  const { config, delivered, cluster } = info;
  const lastActive = delivered.last_active;
  return {
    name: info.name,
    isLasting: config.durable_name !== undefined,
    facts: {
      filters: config.filter_subjects ?? (config.filter_subject ? [config.filter_subject] : []),
      pending: info.num_pending,
      unacknowledged: info.num_ack_pending,
      unacknowledgedMax: amount(config.max_ack_pending ?? 0),
      readersWaiting: info.num_waiting,
      lastHandedOutAt: lastActive === undefined ? undefined : new Date(String(lastActive)),
      leader: cluster?.leader || undefined,
    },
  };
}
