// The bus: everything that this system does with NATS goes through this module, and no other folder imports a NATS package.
import { openStoredMessages } from './stored-messages.ts';
import { openBroadcasts } from './broadcasts.ts';
import { openConnection, type ConnectionOptions } from './connection.ts';
import { follow, type FollowOptions } from './follow-stream.ts';
import { readLevels } from './levels.ts';
import { patiently } from './patience.ts';
import { openPublisher } from './publish.ts';
import { sendRequest, type RequestOptions } from './request.ts';
import { serve, type ObserveRequest, type ServiceOptions } from './serve.ts';
import { openStreams } from './ensure-streams.ts';

export type { BusHandler, BusReply, BusRequest } from './answer.ts';
export type { ReadOptions, StoredMessage } from './stored-messages.ts';
export type { Broadcast } from './broadcasts.ts';
export type { Forbidden } from './connection.ts';
export type { FollowOptions, Reading } from './follow-stream.ts';
export type { Level, Levels } from './levels.ts';
export type { InspectedConsumer, InspectedFacts, InspectedStream } from './inspect.ts';
export { queryOf, type FollowedMessage, type Headers } from './message.ts';
export type { OutgoingMessage } from './publish.ts';
export type { Reply, RequestOptions } from './request.ts';
export { NatsRefusal, unheardSubject } from './nats-refusals.ts';
export { quantityInWords } from './quantities.ts';
export { largeRequests, type ServiceOptions } from './serve.ts';
export { refuseGivenUp } from './still-waiting.ts';
export type { Wait } from './waits.ts';
export type { StreamStanding } from './stream-watch.ts';
export type { FoundConsumer } from './ensure-streams.ts';
export type { ConsumerBegin, ConsumerSpec, StreamSpec } from './stream-config.ts';

export interface BusOptions extends ConnectionOptions {
  observe?: ObserveRequest;
}

export type Bus = Awaited<ReturnType<typeof openBus>>;

/** Opens the bus. Resolves once NATS is connected. */
export async function openBus({ observe = () => undefined, ...options }: BusOptions) {
  const connection = await openConnection(options);
  const streams = openStreams(connection);
  const stored = openStoredMessages(connection);
  let reconnects = 0;
  connection.onReconnect(() => (reconnects += 1));
  return {
    ...stored,
    ...openBroadcasts(connection),
    ...openPublisher(connection),
    ...streams,
    get connected(): boolean {
      return connection.connected;
    },
    get reconnects(): number {
      return reconnects;
    },
    get maxPayloadBytes(): number {
      return connection.maxPayloadBytes;
    },
    request: (subject: string, request: RequestOptions) => sendRequest(connection, subject, request),
    /** Tells replicas to answer this process's requests that wait for an event, because it is about to end (waits.ts). */
    answerNow: () => connection.inbox.answerNow(),
    serve: (service: ServiceOptions) => serve(connection, service, observe),
    /** Reads a stream in order, from an offset that the reader keeps. */
    follow: (stream: string, following: FollowOptions) => follow(connection, stored, stream, following),
    /** How full the named streams are, and how fast they grow. */
    readLevels: (names: readonly string[], nowMs = Date.now()) =>
      readLevels(connection, stored.readStream, names, nowMs),
    /** Repeats `work` until NATS answers, for the start of a process. */
    patiently: <T>(what: string, work: () => Promise<T>) => patiently(connection, what, work),
    async [Symbol.asyncDispose](): Promise<void> {
      const checked = streams[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
      await checked;
    },
  };
}
