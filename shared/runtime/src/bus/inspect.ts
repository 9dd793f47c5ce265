// What nats-server has: streams and their consumers as they are, beside what they should be. Nothing is changed here;
// streams.ts does that.
import { Failure } from '@integration-sync/contracts';
import { JetStreamApiError, type ConsumerInfo, type StreamInfo } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { amount, quantityIn } from './quantities.ts';
import { codes, isForbidden, unlessRefused } from './refusals.ts';
import { compareForeign, compareStream, type StreamComparison, type StreamSpec } from './stream-config.ts';

export interface FoundStream extends StreamComparison {
  name: string;
  /** Whether it is one of those that were asked for. */
  isExpected: boolean;
  /** No leader: it is there, and nats-server can neither take nor hand out anything of it. */
  standing: 'there' | 'missing' | 'leaderless';
  /** Of one that is there. */
  facts: InspectedFacts | undefined;
}

export interface InspectedStream extends FoundStream {
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

/** Undefined where it is not there. */
export const findStream = (connection: Connection, name: string): Promise<StreamInfo | undefined> =>
  unlessRefused(connection.manager.streams.info(name), codes.streamNotFound);

/** What a stream is beside its spec; one without a spec is none of those that were asked for. */
export const describeStream = (info: StreamInfo, spec: StreamSpec | undefined): FoundStream => ({
  name: info.config.name,
  isExpected: spec !== undefined,
  standing: info.cluster === undefined || info.cluster.leader ? 'there' : 'leaderless',
  facts: factsOf(info),
  ...(spec === undefined ? compareForeign(info.config) : compareStream(spec, info.config)),
});

/** Those that are expected, in their order, and then all others. */
export async function inspectStreams(
  connection: Connection,
  expected: readonly StreamSpec[],
): Promise<InspectedStream[]> {
  const all = await askJetStream(connection, () => Array.fromAsync(connection.manager.streams.list()));
  const found = new Map(all.map((info) => [info.config.name, info]));
  const inspect = async (info: StreamInfo, spec: StreamSpec | undefined): Promise<InspectedStream> => {
    const list = () => Array.fromAsync(connection.manager.consumers.list(info.config.name));
    const consumers = await askJetStream(connection, list);
    return { ...describeStream(info, spec), consumers: consumers.map(inspectConsumer) };
  };
  const inspected: InspectedStream[] = [];
  for (const spec of expected) {
    const { name } = spec;
    // The list leaves out a stream that has no leader.
    const info = found.get(name) ?? (await lookFor(connection, name));
    if (typeof info === 'object') inspected.push(await inspect(info, spec));
    else inspected.push({ ...nothing, name, isExpected: true, standing: info });
    found.delete(name);
  }
  for (const info of found.values()) inspected.push(await inspect(info, undefined));
  return inspected;
}

const nothing = { facts: undefined, differing: [], foreign: [], changes: [], left: [], consumers: [] };

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

async function lookFor(connection: Connection, name: string): Promise<StreamInfo | 'missing' | 'leaderless'> {
  try {
    return (await connection.whileConnected(() => findStream(connection, name))) ?? 'missing';
  } catch (error) {
    // Its leader answers for a stream.
    if (!isSilence(connection, error)) throw error;
    return 'leaderless';
  }
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
