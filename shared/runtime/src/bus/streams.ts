// Streams and their consumers, ensured at start: made where they are missing, compared where they are there,
// and brought to what the code says where NATS lets them be changed. A stream that is there loses nothing by that
// (quantities.ts). A login that may make none waits for a stream that is missing, and leaves one that differs: operators make and
// change them (`ops streams --apply`).
import { JetStreamApiError, type StreamConfig, type StreamInfo } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { patiently } from './patience.ts';
import { compareQuantities, quantitiesOf } from './quantities.ts';
import { isForbidden, refused } from './refusals.ts';
import {
  consumerConfig,
  differences,
  streamConfig,
  type ConsumerSpec,
  type StreamSpec,
} from './stream-config.ts';
import type { StreamWatch } from './stream-watch.ts';

const codes = {
  streamNotFound: 10_059,
  consumerNotFound: 10_014,
  streamNameInUse: 10_058,
  replicasUnsupported: 10_074,
};

export async function ensureStream(
  connection: Connection,
  watch: StreamWatch,
  spec: StreamSpec,
): Promise<void> {
  const what = `stream ${spec.name}`;
  const wanted = streamConfig(spec);
  const info = await patiently(connection, what, async () => {
    const found = await findStream(connection, spec.name);
    if (found !== undefined) return found;
    const made = await ifAllowed(connection, () =>
      unlessMissing(
        connection.manager.streams.add({ ...wanted, ...quantitiesOf(spec) }),
        codes.streamNameInUse,
      ),
    );
    if (made === forbidden) {
      watch.isMissing(spec);
      throw new Error(`no ${what}, and this login may make none`);
    }
    if (made !== undefined) connection.log.info({ stream: spec.name }, 'stream made');
    return made ?? connection.manager.streams.info(spec.name);
  });
  const differing = differences(wanted, info.config);
  const { changes } = compareQuantities(spec, info.config);
  const isMended =
    differing.length > 0 &&
    (await patiently(connection, what, () =>
      ifAllowed(connection, () => connection.manager.streams.update(spec.name, wanted)),
    )) !== forbidden;
  const changed =
    Object.keys(changes).length === 0 || (await changeQuantities(connection, watch, spec.name, changes));
  const names = [...(isMended ? differing : []), ...(changed ? Object.keys(changes) : [])];
  if (names.length === 0) return watch.saw(spec, info);
  connection.log.warn({ stream: spec.name, differing: names }, 'stream differed and was changed');
  watch.saw(spec, await patiently(connection, what, () => connection.manager.streams.info(spec.name)));
}

const forbidden = Symbol('forbidden');
/** Of logins that may neither make nor change a stream. They are asked once: nats-server logs each refusal. */
const unallowed = new WeakSet<Connection>();

async function ifAllowed<T>(connection: Connection, work: () => Promise<T>): Promise<T | typeof forbidden> {
  if (unallowed.has(connection)) return forbidden;
  try {
    return await work();
  } catch (error) {
    if (!isForbidden(error) || connection.endsWhereForbidden) throw error;
    unallowed.add(connection);
    return forbidden;
  }
}

/** Undefined where it is not there. */
export const findStream = (connection: Connection, name: string): Promise<StreamInfo | undefined> =>
  unlessMissing(connection.manager.streams.info(name), codes.streamNotFound);

/** Without them the stream is as good as before, so that a cluster that is short of servers stops no start. */
async function changeQuantities(
  connection: Connection,
  watch: StreamWatch,
  stream: string,
  changes: Partial<StreamConfig>,
): Promise<boolean> {
  const what = `stream ${stream}`;
  try {
    const update = (): Promise<unknown> => connection.manager.streams.update(stream, changes);
    const done = await connection.whileConnected(() => ifAllowed(connection, update));
    watch.granted(what);
    return done !== forbidden;
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    if (error.code === codes.replicasUnsupported) throw refused(what, error);
    connection.log.debug({ err: error, stream, changes }, 'a stream does not get what settings say');
    watch.refused(what, error);
    return false;
  }
}

export async function ensureConsumer(
  connection: Connection,
  watch: StreamWatch,
  stream: string,
  spec: ConsumerSpec,
): Promise<void> {
  const what = `consumer ${spec.name}`;
  try {
    await makeConsumer(connection, stream, spec);
    watch.granted(what);
  } catch (error) {
    if (error instanceof Error && error.cause instanceof JetStreamApiError) watch.refused(what, error.cause);
    throw error;
  }
}

async function makeConsumer(connection: Connection, stream: string, spec: ConsumerSpec): Promise<void> {
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

/** Undefined where the stream is not there. */
export const messagesIn = (connection: Connection, stream: string): Promise<number | undefined> =>
  connection.whileConnected(async () => (await findStream(connection, stream))?.state.messages);

/** Nothing happens where it is not there. */
export async function removeStream(connection: Connection, stream: string): Promise<void> {
  await unlessMissing(
    connection.whileConnected(() => connection.manager.streams.delete(stream)),
    codes.streamNotFound,
  );
}

/** The same of a consumer. */
export async function removeConsumer(
  connection: Connection,
  stream: string,
  consumer: string,
): Promise<boolean> {
  const removing = connection.whileConnected(() => connection.manager.consumers.delete(stream, consumer));
  return (await unlessMissing(removing, codes.consumerNotFound)) ?? false;
}

async function unlessMissing<T>(work: Promise<T>, code: number): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === code) return undefined;
    throw error;
  }
}
