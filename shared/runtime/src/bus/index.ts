// The bus: everything that this system does with NATS goes through this door, and no other room imports a NATS package.
// Questions are requests and replies, facts go to JetStream.
import type { NatsOptions } from '../config/index.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing/index.ts';
import { answerAll, askAll } from './ask-all.ts';
import {
  countBySubject,
  countMessages,
  lastOfEach,
  openReading,
  purge,
  streamFacts,
  type ReadOptions,
  type StoredMessage,
  type StreamFacts,
} from './archive.ts';
import { openConnection, type Forbidden } from './connection.ts';
import { follow, type FollowOptions, type Reading } from './follow.ts';
import { inspectStreams, type InspectedStream } from './inspect.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';
import { patiently } from './patience.ts';
import {
  openBatchPublisher,
  publish,
  type BatchHeaders,
  type OutgoingMessage,
  type Published,
} from './publish.ts';
import { sendRequest, type Reply, type RequestOptions } from './request.ts';
import { serve, type ObserveRequest, type ServiceOptions } from './serve.ts';
import type { ConsumerSpec, StreamSpec } from './stream-config.ts';
import { openStreamWatch, type StreamStanding } from './stream-watch.ts';
import {
  ensureConsumer,
  ensureStream,
  hasConsumer,
  messagesIn,
  removeConsumer,
  removeStream,
} from './streams.ts';

export type { BusHandler, BusReply, BusRequest } from './answer.ts';
export type { ReadOptions, StoredMessage, StreamFacts } from './archive.ts';
export type { Forbidden } from './connection.ts';
export type { FollowedMessage, FollowOptions, Reading } from './follow.ts';
export type { ConsumerFigures, InspectedConsumer, InspectedFacts, InspectedStream } from './inspect.ts';
export { queryOf, type Headers } from './message.ts';
export type { OutgoingMessage, Published } from './publish.ts';
export type { Reply, RequestOptions } from './request.ts';
export { quantityInWords, type Difference } from './quantities.ts';
export { largeRequests } from './serve.ts';
export type { ObserveRequest, ServiceOptions } from './serve.ts';
export type { Wait } from './waits.ts';
export type { StreamStanding } from './stream-watch.ts';
export type { ConsumerSpec, StreamSpec } from './stream-config.ts';

export interface BusOptions extends NatsOptions {
  /** Shown in the server's list of connections. */
  name: string;
  log: Log;
  observe?: ObserveRequest;
  /** Requests that carry a `traceparent`, and those that are answered, are steps of a trace. */
  tracing?: Tracing | undefined;
  /** Ends the wait for a NATS that does not come. */
  signal?: AbortSignal | undefined;
  /** Called where nats-server refuses this process a subject. The log has a line of it otherwise. */
  onForbidden?: (forbidden: Forbidden) => void;
}

export interface Broadcast {
  subject: string;
  headers: Headers;
  body: Uint8Array;
}

export interface Bus extends AsyncDisposable {
  readonly connected: boolean;
  /** What the server takes in one message, headers included. */
  readonly maxPayloadBytes: number;

  request(subject: string, options: RequestOptions): Promise<Reply>;
  /** Asks for the answers to its requests that wait for something: this process is about to end (waits.ts). */
  answerNow(): void;
  serve(options: ServiceOptions): Promise<AsyncDisposable>;
  /** What every replica that has something to say says within that time. */
  askAll(subject: string, forMs: number): Promise<Uint8Array[]>;
  answerAll(subject: string, say: () => string | undefined): Disposable;

  /** To every listener of every replica, once, without any promise; to none once the bus is being closed. */
  broadcast(subject: string, body: Uint8Array | string, headers?: Readonly<Record<string, string>>): void;
  /** `onMissed`: the line was down, and what was said meanwhile is not said again. */
  listen(subject: string, onMessage: (message: Broadcast) => void, onMissed?: () => void): Disposable;

  /** Asks NATS until it answers, for a start, which has nothing else to do meanwhile. */
  patiently<T>(what: string, work: () => Promise<T>): Promise<T>;
  ensureStream(spec: StreamSpec): Promise<void>;
  ensureConsumer(stream: string, spec: ConsumerSpec): Promise<void>;
  /** How the streams stand that this process made sure of. */
  streamStandings(): StreamStanding[];
  /** Looks for streams of others over subjects of this system, beside those that are named. `streamNotes` has what it finds. */
  watchOtherStreams(own: readonly string[]): void;
  /** What is to be said of them: a sentence each. */
  streamNotes(): string[];
  /** What NATS has, beside what it should have. Changes nothing. */
  inspectStreams(expected: readonly StreamSpec[]): Promise<InspectedStream[]>;
  hasConsumer(stream: string, consumer: string): Promise<boolean>;
  /** Undefined where the stream is not there. */
  messagesIn(stream: string): Promise<number | undefined>;
  removeStream(stream: string): Promise<void>;
  /** False if it was not there. */
  removeConsumer(stream: string, consumer: string): Promise<boolean>;
  publish(message: OutgoingMessage): Promise<Published>;
  /** Resolves with where each of them stands in its stream. */
  publishBatch(messages: readonly OutgoingMessage[], headers?: BatchHeaders): Promise<Published[]>;
  /** Reads a stream in its order, from an offset that the reader knows. */
  follow(stream: string, options: FollowOptions): Reading;

  readStream(stream: string, options: ReadOptions): AsyncGenerator<StoredMessage>;
  /** The last message of each of these subjects, where it stands at that place or later. A copy of the stream answers. */
  lastOfEach(stream: string, subjects: readonly string[], fromSequence: number): Promise<StoredMessage[]>;
  streamFacts(stream: string): Promise<StreamFacts>;
  countMessages(stream: string, subject: string): Promise<number>;
  countBySubject(stream: string, subject: string): Promise<Map<string, number>>;
  purge(stream: string, subject: string, throughSequence?: number): Promise<number>;
}

/** Waits until NATS is there. */
export async function openBus(options: BusOptions): Promise<Bus> {
  const connection = await openConnection(options);
  const watch = openStreamWatch(connection);
  const publisher = openBatchPublisher(connection);
  const observe = options.observe ?? (() => undefined);

  return {
    get connected() {
      return connection.connected;
    },
    get maxPayloadBytes() {
      return connection.maxPayloadBytes;
    },
    request: (subject, request) => sendRequest(connection, subject, request),
    answerNow: () => connection.inbox.answerNow(),
    serve: (service) => serve(connection, service, observe),
    askAll: (subject, forMs) => askAll(connection, subject, forMs),
    answerAll: (subject, say) => answerAll(connection, subject, say),
    broadcast(subject, body, headers = {}) {
      // Work that ends after the bus of its process may still want to broadcast.
      if (connection.nats.isDraining() || connection.nats.isClosed()) return;
      connection.nats.publish(subject, body, { headers: writeHeaders(headers) });
    },
    listen(subject, onMessage, onMissed = () => undefined) {
      const missing = connection.onReconnect(onMissed);
      const subscription = connection.nats.subscribe(subject, {
        callback: (error, message) => {
          if (error !== null) return;
          onMessage({ subject: message.subject, headers: readHeaders(message.headers), body: message.data });
        },
      });
      return {
        [Symbol.dispose]() {
          missing[Symbol.dispose]();
          subscription.unsubscribe();
        },
      };
    },
    patiently: (what, work) => patiently(connection, what, work),
    ensureStream: (spec) => ensureStream(connection, watch, spec),
    ensureConsumer: (stream, spec) => ensureConsumer(connection, watch, stream, spec),
    watchOtherStreams: (own) => watch.watchOthers(own),
    streamStandings: () => watch.standings(),
    streamNotes: () => watch.notes(),
    inspectStreams: (expected) => inspectStreams(connection, expected),
    hasConsumer: (stream, consumer) => hasConsumer(connection, stream, consumer),
    messagesIn: (stream) => messagesIn(connection, stream),
    removeStream: (stream) => removeStream(connection, stream),
    removeConsumer: (stream, consumer) => removeConsumer(connection, stream, consumer),
    publish: (message) => publish(connection, message),
    publishBatch: (messages, headers) => publisher.publishBatch(messages, headers),
    follow: (stream, following) => follow(connection, stream, following),
    readStream: openReading(connection),
    lastOfEach: (stream, subjects, fromSequence) => lastOfEach(connection, stream, subjects, fromSequence),
    streamFacts: (stream) => streamFacts(connection, stream),
    countMessages: (stream, subject) => countMessages(connection, stream, subject),
    countBySubject: (stream, subject) => countBySubject(connection, stream, subject),
    purge: (stream, subject, throughSequence) => purge(connection, stream, subject, throughSequence),
    async [Symbol.asyncDispose]() {
      const checked = watch[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
      await checked;
    },
  };
}
