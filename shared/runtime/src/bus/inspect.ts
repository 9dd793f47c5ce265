// Compares the streams and consumers of nats-server with the streams that this release expects. ensure-streams.ts changes them.
import { eventsStream, Failure } from '@integration-sync/contracts';
import { JetStreamApiError, type ConsumerInfo, type StreamConfig, type StreamInfo } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { amount, quantityIn } from './quantities.ts';
import { codes, isForbidden, unheardSubject, unlessRefused } from './nats-refusals.ts';
import {
  compareForeign,
  compareStream,
  filtersOf,
  nothingDiffers,
  type StreamComparison,
  type StreamSpec,
} from './stream-config.ts';

export interface FoundStream extends StreamComparison {
  name: string;
  isExpected: boolean;
  /** A stream without a leader exists, but can neither store nor deliver messages. */
  standing: 'there' | 'missing' | 'leaderless';
  /** What nats-server says of the stream; undefined for a missing stream. */
  facts: InspectedFacts | undefined;
  /** The streams from which nats-server copies messages into this stream. */
  copied: string[];
}

export interface InspectedStream extends FoundStream {
  consumers: InspectedConsumer[];
}

export type InspectedFacts = ReturnType<typeof factsOf>;
export type InspectedConsumer = ReturnType<typeof inspectConsumer>;

/** What nats-server says of a stream; undefined for a missing stream. */
export const findStream = (connection: Connection, name: string): Promise<StreamInfo | undefined> =>
  unlessRefused(connection.manager.streams.info(name), codes.streamNotFound);

/** Compares a stream with its spec; a stream without a spec belongs to another system. */
export const describeStream = (info: StreamInfo, spec: StreamSpec | undefined): FoundStream => ({
  name: info.config.name,
  isExpected: spec !== undefined,
  standing: info.cluster === undefined || info.cluster.leader ? 'there' : 'leaderless',
  facts: factsOf(info),
  copied: copiedStreams(info.config),
  ...(spec === undefined ? compareForeign(info.config) : compareStream(spec, info)),
});

/** Lists the expected streams in their order, then all other streams. */
export async function inspectStreams(
  connection: Connection,
  expected: readonly StreamSpec[],
): Promise<InspectedStream[]> {
  const all = await askJetStream(connection, () => Array.fromAsync(connection.lister.streams.list()));
  const found = new Map(all.map((info) => [info.config.name, info]));
  const inspect = async (info: StreamInfo, spec: StreamSpec | undefined): Promise<InspectedStream> => {
    const list = () => Array.fromAsync(connection.lister.consumers.list(info.config.name));
    const consumers = await askJetStream(connection, list);
    const inspectOne = (one: ConsumerInfo) => inspectConsumer(info.config.name, one);
    return { ...describeStream(info, spec), consumers: consumers.map(inspectOne) };
  };
  const inspected: InspectedStream[] = [];
  for (const spec of expected) {
    const { name } = spec;
    // The list of streams leaves out streams without a leader, and the cluster that a single server names.
    const info = await lookFor(connection, name);
    if (typeof info === 'object') inspected.push(await inspect(info, spec));
    else {
      const nothing = { facts: undefined, copied: [], consumers: [] };
      inspected.push({ ...nothingDiffers, ...nothing, name, isExpected: true, standing: info });
    }
    found.delete(name);
  }
  for (const info of found.values()) inspected.push(await inspect(info, undefined));
  return inspected;
}

/** If JetStream does not answer, throws a failure that says how many servers of a cluster must be up. */
async function askJetStream<T>(connection: Connection, ask: () => Promise<T>): Promise<T> {
  try {
    return await connection.whileConnected(ask);
  } catch (error) {
    // Without responders the account of this login imports no part of JetStream that this command needs.
    if (!isSilence(connection, error) || unheardSubject(error) !== undefined) throw error;
    throw new Failure(
      'unavailable',
      'NATS is up, and its JetStream does not answer: more than half of the servers of a cluster must be up, and each ' +
        'must have JetStream.',
      { cause: error },
    );
  }
}

/** Whether JetStream gave no answer on a working connection. A refusal with 503 counts as no answer. */
export const isSilence = ({ connected }: Connection, error: unknown): boolean =>
  connected && !isForbidden(error) && !(error instanceof JetStreamApiError && error.status !== 503);

async function lookFor(connection: Connection, name: string): Promise<StreamInfo | 'missing' | 'leaderless'> {
  try {
    return (await connection.whileConnected(() => findStream(connection, name))) ?? 'missing';
  } catch (error) {
    // Only the leader of a stream answers for it, so silence means that the stream has no leader.
    if (!isSilence(connection, error)) throw error;
    return 'leaderless';
  }
}

function factsOf({ config, state, cluster }: StreamInfo) {
  return {
    subjects: config.subjects,
    replicas: config.num_replicas,
    /** The name of the cluster; undefined on a single server. */
    cluster: cluster?.name || undefined,
    // The leader; undefined on a single server, which STREAM.INFO names as the leader of its streams.
    leader: (cluster?.name && cluster.leader) || undefined,
    followers: (cluster?.replicas ?? []).map(({ name, current, offline, lag }) => ({
      server: name,
      current,
      offline,
      // nats-server leaves out a number that is 0.
      behind: lag > 0 ? lag : 0,
    })),
    messages: state.messages,
    bytes: state.bytes,
    /** The size limit; Infinity: no limit. */
    bytesMax: quantityIn(config, 'bytesMax'),
    /** How long a message is kept; Infinity: for ever. */
    maxAgeMs: quantityIn(config, 'maxAgeMs'),
    /** When the oldest message was stored; undefined for an empty stream. */
    oldestAt: state.messages === 0 ? undefined : new Date(state.first_ts),
  };
}

function inspectConsumer(stream: string, info: ConsumerInfo) {
  const { config, delivered, cluster } = info;
  const lastActive = delivered.last_active;
  return {
    name: info.name,
    isLasting: config.durable_name !== undefined,
    strangeness: strangenessOf(stream, info),
    /** The subject to which nats-server publishes what the consumer reads; undefined if clients pull. */
    pushesTo: config.deliver_subject,
    facts: {
      filters: filtersOf(config),
      /** How many messages nats-server has not delivered to the consumer yet. */
      pending: info.num_pending,
      /** How many messages are delivered and not acknowledged. */
      unacknowledged: info.num_ack_pending,
      unacknowledgedMax: amount(config.max_ack_pending ?? 0),
      /** How many pull requests of readers wait at nats-server. */
      readersWaiting: info.num_waiting,
      lastHandedOutAt: lastActive === undefined ? undefined : new Date(String(lastActive)),
      leader: cluster?.leader || undefined,
    },
  };
}

// Consumers and streams that read the streams of this system but do not belong to this system. A push consumer, and a stream that
// copies messages, publish them with the rights of nats-server.

/** Consumers with which replicas of releases up to 1.1.0 read the log. nats-server removes each after its reader ends. */
const formerReader = /^follow-[0-9a-f-]{36}$/;

/** Why a consumer does not belong to this system: other services may only read EVENTS, each by a pull consumer. */
export type Strangeness = 'pushes' | 'unknown' | undefined;

export function strangenessOf(
  stream: string,
  { name, config }: Pick<ConsumerInfo, 'name' | 'config'>,
): Strangeness {
  if ((config.deliver_subject ?? '') !== '') return 'pushes';
  const isFormer = formerReader.test(name) && config.durable_name === undefined;
  return stream === eventsStream || isFormer ? undefined : 'unknown';
}

/** The names of the streams from which nats-server copies messages into a stream. */
export const copiedStreams = ({ mirror, sources = [] }: Partial<StreamConfig>): string[] => [
  ...new Set([...(mirror === undefined ? [] : [mirror]), ...sources].map(({ name }) => name)),
];
