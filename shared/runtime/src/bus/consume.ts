// Reading a durable consumer: messages come in bounded numbers, and whoever takes one settles it.
import { setTimeout as wait } from 'node:timers/promises';
import { JetStreamApiError, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { readHeaders, type Headers } from './message.ts';

export interface StreamMessage {
  readonly subject: string;
  readonly id: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly sequence: number;
  /** How often it has been handed out, this time included. */
  readonly deliveries: number;
  readonly storedAt: Date;
  ack(): void;
  nak(delayMs?: number): void;
  working(): void;
  term(reason: string): void;
}

export interface ConsumeOptions {
  /** How many messages are asked for ahead of being taken. */
  ahead: number;
  /** While the promise that it returns is open, no further message is taken. */
  onMessage(message: StreamMessage): void | Promise<void>;
  /** Makes stream and consumer again, should the server have lost them. */
  ensure(): Promise<void>;
}

const openRetryMs = 500;
const heartbeatMs = 2_500;
const expiresMs = 30_000;

/** Reads until disposed, through whatever happens to the server. */
export function consume(
  connection: Connection,
  stream: string,
  consumer: string,
  options: ConsumeOptions,
): AsyncDisposable {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
  let messages: ConsumerMessages | undefined;

  // The client's own endless `consume` asks for more as messages arrive, not as they are taken: a reader that is
  // slow would have the whole backlog in its memory, where it is handed out again when nobody acknowledges it.
  const readOn = async (): Promise<void> => {
    const source = await connection.stream.consumers.get(stream, consumer);
    while (!stop.signal.aborted) {
      messages = await source.fetch({
        max_messages: options.ahead,
        expires: expiresMs,
        idle_heartbeat: heartbeatMs,
        // Or the client asks for the consumer's state after a reconnect, and waits for long if nobody answers.
        bind: true,
      });
      if (stop.signal.aborted) messages.stop();
      for await (const message of messages) await options.onMessage(wrap(message));
    }
  };

  /** Refused for now, as by a cluster that is short of servers, is tried again as well. */
  const makeAgain = (): Promise<void> =>
    options.ensure().catch((error: unknown) => {
      connection.log.error({ err: error, stream, consumer }, 'a stream cannot be made again, trying again');
    });

  const readForEver = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await readOn();
      } catch (error) {
        if (stop.signal.aborted) return;
        connection.log.warn({ err: error, stream, consumer }, 'reading a consumer failed, trying again');
        // Which may take for as long as the server does.
        if (isMissing(error)) await Promise.race([makeAgain(), stopped]);
      }
      if (!stop.signal.aborted) await Promise.race([wait(openRetryMs), stopped]);
    }
  };
  const reading = readForEver().catch((error: unknown) =>
    connection.log.error({ err: error, stream, consumer }, 'a consumer is no longer read'),
  );

  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await messages?.close();
      await reading;
    },
  };
}

const isMissing = (error: unknown): boolean =>
  (error instanceof JetStreamApiError && error.status === 404) ||
  (error instanceof Error && /not found|deleted/i.test(error.message));

const wrap = (message: JsMsg): StreamMessage => new TakenMessage(message);

/** Reads only what is asked for: most readers want a message's body and little else, and the rest costs more. */
class TakenMessage implements StreamMessage {
  readonly #message: JsMsg;

  constructor(message: JsMsg) {
    this.#message = message;
  }

  get subject() {
    return this.#message.subject;
  }
  get id() {
    return this.#message.headers?.get('Nats-Msg-Id') ?? '';
  }
  get headers() {
    return readHeaders(this.#message.headers);
  }
  get body() {
    return this.#message.data;
  }
  get sequence() {
    return this.#message.seq;
  }
  get deliveries() {
    return this.#message.info.deliveryCount;
  }
  get storedAt() {
    return this.#message.time;
  }
  ack() {
    this.#message.ack();
  }
  nak(delayMs?: number) {
    this.#message.nak(delayMs);
  }
  working() {
    this.#message.working();
  }
  term(reason: string) {
    this.#message.term(reason);
  }
}
