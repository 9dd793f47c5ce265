// The bus: everything that this system does with NATS goes through this door, and no other room imports a NATS package.
// Questions are requests and replies, facts go to JetStream.
import { openArchive, type Archive } from './archive.ts';
import { openBroadcasts, type Broadcasts } from './broadcasts.ts';
import { openConnection, type ConnectionOptions } from './connection.ts';
import { follow, type FollowOptions, type Reading } from './follow.ts';
import { patiently } from './patience.ts';
import { openPublisher, type Publisher } from './publish.ts';
import { sendRequest, type Reply, type RequestOptions } from './request.ts';
import { serve, type ObserveRequest, type ServiceOptions } from './serve.ts';
import { openStreams, type Streams } from './streams.ts';

export type { BusHandler, BusReply, BusRequest } from './answer.ts';
export type { ReadOptions, StoredMessage, StreamFacts } from './archive.ts';
export type { Broadcast } from './broadcasts.ts';
export type { Forbidden } from './connection.ts';
export type { FollowedMessage, FollowOptions, Reading } from './follow.ts';
export type { InspectedConsumer, InspectedFacts, InspectedStream } from './inspect.ts';
export { queryOf, type Headers } from './message.ts';
export type { OutgoingMessage, Published } from './publish.ts';
export type { Reply, RequestOptions } from './request.ts';
export { quantityInWords, type Difference } from './quantities.ts';
export { largeRequests } from './serve.ts';
export type { ObserveRequest, ServiceOptions } from './serve.ts';
export type { Wait } from './waits.ts';
export type { StreamStanding } from './stream-watch.ts';
export type { ConsumerSpec, StreamSpec } from './stream-config.ts';

export interface BusOptions extends ConnectionOptions {
  observe?: ObserveRequest;
}

export interface Bus extends Archive, Broadcasts, Publisher, Streams {
  readonly connected: boolean;
  /** What the server takes in one message, headers included. */
  readonly maxPayloadBytes: number;
  request(subject: string, options: RequestOptions): Promise<Reply>;
  /** Asks for the answers to its requests that wait for something: this process is about to end (waits.ts). */
  answerNow(): void;
  serve(options: ServiceOptions): Promise<AsyncDisposable>;
  /** Reads a stream in its order, from an offset that the reader knows. */
  follow(stream: string, options: FollowOptions): Reading;
  /** Asks NATS until it answers, for a start, which has nothing else to do meanwhile. */
  patiently<T>(what: string, work: () => Promise<T>): Promise<T>;
}

/** Waits until NATS is there. */
export async function openBus({ observe = () => undefined, ...options }: BusOptions): Promise<Bus> {
  const connection = await openConnection(options);
  const streams = openStreams(connection);
  return {
    ...openArchive(connection),
    ...openBroadcasts(connection),
    ...openPublisher(connection),
    ...streams,
    get connected() {
      return connection.connected;
    },
    get maxPayloadBytes() {
      return connection.maxPayloadBytes;
    },
    request: (subject, request) => sendRequest(connection, subject, request),
    answerNow: () => connection.inbox.answerNow(),
    serve: (service) => serve(connection, service, observe),
    follow: (stream, following) => follow(connection, stream, following),
    patiently: (what, work) => patiently(connection, what, work),
    async [Symbol.asyncDispose]() {
      const checked = streams[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
      await checked;
    },
  };
}
