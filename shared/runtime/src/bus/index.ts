// The bus: everything that this system does with NATS goes through this module, and no other folder imports a NATS package.
// Services ask each other by request and reply, and publish events to JetStream.
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
  /** The server's limit for one message, headers included. */
  readonly maxPayloadBytes: number;
  request(subject: string, options: RequestOptions): Promise<Reply>;
  /** This process is about to end: tells replicas to answer its requests that wait for an event (waits.ts). */
  answerNow(): void;
  serve(options: ServiceOptions): Promise<AsyncDisposable>;
  /** Reads a stream in order, from an offset that the reader keeps. */
  follow(stream: string, options: FollowOptions): Reading;
  /** Repeats `work` until NATS answers, for the start of a process. */
  patiently<T>(what: string, work: () => Promise<T>): Promise<T>;
}

/** Resolves once NATS is connected. */
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
