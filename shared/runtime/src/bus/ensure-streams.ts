// Ensures streams and consumers at start: creates missing ones, and changes existing ones that differ from this release as far as
// NATS allows. Without STREAMS_MAY_SHRINK, no change removes messages (quantities.ts). A process whose login lacks the permission
// waits for a missing stream, and keeps a stream that differs: operators create and change streams (`ops streams --apply`).
import { JetStreamApiError, type StreamConfig } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { findStream, inspectStreams } from './inspect.ts';
import { patiently } from './patience.ts';
import { changedConfig, quantitiesOf } from './quantities.ts';
import {
  codes,
  isForbidden,
  isRefusedWith,
  refused,
  unheardSubject,
  unlessRefused,
} from './nats-refusals.ts';
import {
  beganAt,
  changeableOf,
  compareStream,
  consumerConfig,
  differences,
  filtersOf,
  isOfCluster,
  streamConfig,
  type ConsumerSpec,
  type StreamSpec,
} from './stream-config.ts';
import { openStreamWatch, type StreamWatch } from './stream-watch.ts';

export type Streams = ReturnType<typeof openStreams>;

export function openStreams(connection: Connection) {
  const { manager } = connection;
  const watch = openStreamWatch(connection);
  return {
    ensureStream: (spec: StreamSpec) => ensureStream(connection, watch, spec),
    ensureConsumer: (stream: string, spec: ConsumerSpec) => ensureConsumer(connection, watch, stream, spec),
    /** The state of each stream that this process has ensured. */
    streamStandings: () => watch.standings(),
    /** Looks for streams of other systems, all but those named `own`, over subjects of this system. `streamNotes` names them. */
    watchOtherStreams: (own: readonly string[]) => watch.watchOthers(own),
    /** One sentence for each problem with a stream, for /readyz. */
    streamNotes: () => watch.notes(),
    /** Compares the streams of NATS with the expected streams, and changes none. */
    inspectStreams: (expected: readonly StreamSpec[]) => inspectStreams(connection, expected),
    findConsumer: (stream: string, name: string) => findConsumer(connection, stream, name),
    /** Removes the consumer, and with it its offset. */
    async removeConsumer(stream: string, name: string): Promise<void> {
      const removed = connection.whileConnected(() => manager.consumers.delete(stream, name));
      await unlessRefused(removed, codes.consumerNotFound);
    },
    /** The number of messages of a stream; undefined if the stream is missing. */
    messagesIn: (stream: string) =>
      connection.whileConnected(async () => (await findStream(connection, stream))?.state.messages),
    [Symbol.asyncDispose]: watch[Symbol.asyncDispose],
  };
}

export type FoundConsumer = NonNullable<Awaited<ReturnType<typeof findConsumer>>>;

async function findConsumer({ manager, whileConnected }: Connection, stream: string, name: string) {
  const asked = whileConnected(() => manager.consumers.info(stream, name));
  const info = await unlessRefused(asked, codes.consumerNotFound);
  if (info === undefined) return undefined;
  const { config, delivered, num_pending: pending } = info;
  const filterSubjects = filtersOf(config);
  return {
    filterSubjects,
    /** The sequence after that of the last event that a reader of the consumer received. */
    next: delivered.stream_seq + 1,
    /** How many messages of the stream no reader of the consumer has received. */
    pending,
    beganAt: (spec: ConsumerSpec) => beganAt(spec, config),
    /** The names of the settings that `ensureConsumer` would change. */
    differingFrom: (spec: ConsumerSpec) =>
      differences(changeableOf(spec), { ...config, filter_subjects: filterSubjects }),
  };
}

async function ensureStream(connection: Connection, watch: StreamWatch, spec: StreamSpec): Promise<void> {
  const { manager, nats, log } = connection;
  const { name } = spec;
  const what = `stream ${name}`;
  const info = await patiently(connection, what, async () => {
    const found = await findStream(connection, name);
    if (found !== undefined) return found;
    const made = await ifAllowed(connection, () =>
      unlessRefused(
        manager.streams.add({
          ...streamConfig(spec, nats.info?.cluster !== undefined),
          ...quantitiesOf(spec),
        }),
        codes.streamNameInUse,
      ),
    );
    if (made === forbidden) {
      watch.isMissing(spec);
      throw new Error(`the ${what} is missing, and this login may not create it`);
    }
    if (made !== undefined) log.info({ stream: name }, 'stream created');
    // `made` does not suffice: only STREAM.INFO shows a cluster that the configuration of a single server names.
    const known = await findStream(connection, name);
    // A server of a cluster may not know a new stream yet, which it or another server has just created.
    if (known === undefined) throw new Error(`nats-server does not know the ${what} yet`);
    return known;
  });
  const { differing, changes } = compareStream(spec, info);
  const isMended =
    differing.length > 0 &&
    (await patiently(connection, what, () =>
      ifAllowed(connection, () => manager.streams.update(name, streamConfig(spec, isOfCluster(info)))),
    )) !== forbidden;
  const changed = changedConfig(spec, changes);
  const isChanged = changes.length > 0 && (await changeQuantities(connection, watch, name, changed));
  const names = [...(isMended ? differing : []), ...(isChanged ? Object.keys(changed) : [])];
  if (names.length === 0) return watch.saw(spec, info);
  log.warn({ stream: name, differing: names }, 'stream differed and was changed');
  watch.saw(spec, await patiently(connection, what, () => manager.streams.info(name)));
}

const forbidden = Symbol('forbidden');
/** Connections whose login may neither create nor change a stream. Each tries once: nats-server logs each refusal. */
const unallowed = new WeakSet<Connection>();

async function ifAllowed<T>(connection: Connection, work: () => Promise<T>): Promise<T | typeof forbidden> {
  if (unallowed.has(connection)) return forbidden;
  try {
    return await work();
  } catch (error) {
    // JetStream has answered before, so "no responders" means that the account of this login does not import the subject.
    const unheard = unheardSubject(error);
    if (unheard !== undefined) connection.lacks(unheard);
    if ((unheard === undefined && !isForbidden(error)) || connection.endsWhereForbidden) throw error;
    unallowed.add(connection);
    return forbidden;
  }
}

/** A refused change leaves the stream as it was, so a cluster that is short of servers does not stop a start. */
async function changeQuantities(
  connection: Connection,
  watch: StreamWatch,
  stream: string,
  changes: Partial<StreamConfig>,
): Promise<boolean> {
  const what = `stream ${stream}`;
  const update = async (): Promise<unknown> => {
    try {
      return await ifAllowed(connection, () => connection.manager.streams.update(stream, changes));
    } catch (error) {
      if (error instanceof JetStreamApiError) return error;
      throw error;
    }
  };
  const done = await patiently(connection, what, update);
  if (done instanceof JetStreamApiError) {
    if (isRefusedWith(done, codes.replicasUnsupported)) throw refused(what, done);
    connection.log.debug(
      { err: done, stream, changes },
      'nats-server refuses the change of a stream that the settings ask for',
    );
    watch.refused(what, done);
    return false;
  }
  watch.granted(what);
  return done !== forbidden;
}

async function ensureConsumer(
  connection: Connection,
  watch: StreamWatch,
  stream: string,
  spec: ConsumerSpec,
): Promise<void> {
  const { consumers } = connection.manager;
  const what = `consumer ${spec.name}`;
  try {
    await patiently(connection, what, async () => {
      const found = await findConsumer(connection, stream, spec.name);
      if (found === undefined) {
        await consumers.add(stream, consumerConfig(spec));
        connection.log.info({ stream, consumer: spec.name }, 'consumer created');
        return;
      }
      const differing = found.differingFrom(spec);
      if (differing.length === 0) return;
      await consumers.update(stream, spec.name, changeableOf(spec));
      connection.log.warn({ stream, consumer: spec.name, differing }, 'consumer differed and was changed');
    });
    watch.granted(what);
  } catch (error) {
    if (error instanceof Error && error.cause instanceof JetStreamApiError) watch.refused(what, error.cause);
    throw error;
  }
}
