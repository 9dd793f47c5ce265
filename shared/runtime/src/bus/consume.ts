// Reading a durable consumer: messages come in bounded numbers, and whoever takes one settles it. A reader knows for how
// long it has got nothing from nats-server but refusals or silence, as one that has nothing to read looks the same.
import { setTimeout as wait } from 'node:timers/promises';
import {
  JetStreamApiError,
  type ConsumerConfig,
  type ConsumerMessages,
  type JsMsg,
} from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { readHeaders, traceparentIn, type Headers } from './message.ts';

export interface StreamMessage {
  readonly subject: string;
  readonly id: string;
  readonly headers: Headers;
  /** Of the step that published it. */
  readonly traceparent?: string | undefined;
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

export interface Reading extends AsyncDisposable {
  /** For how long nothing could be read; 0 where there may be nothing to read, and while a message is being taken. */
  readonly failingForMs: number;
}

const openRetryMs = 500;
const heartbeatMs = 2_500;
const expiresMs = 30_000;
/** The shortest that the client takes. */
const expiresMinMs = 1_000;

/** Reads until disposed, through whatever happens to the server. */
export function consume(
  connection: Connection,
  stream: string,
  consumer: string,
  options: ConsumeOptions,
): Reading {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
  let messages: ConsumerMessages | undefined;
  let failingSince: number | undefined;

  /** Where there is nothing to read, nothing but a heartbeat tells that there would be. */
  const untilHeartbeat = async (fetched: ConsumerMessages): Promise<void> => {
    for await (const { type } of fetched.status()) {
      if (type !== 'heartbeat') continue;
      failingSince = undefined;
      return;
    }
  };

  // The client's own endless `consume` asks for more as messages arrive, not as they are taken: a reader that is
  // slow would have the whole backlog in its memory, where it is handed out again when nobody acknowledges it.
  const readOn = async (): Promise<void> => {
    const source = await connection.stream.consumers.get(stream, consumer);
    const asked = withinLimits((await source.info(true)).config, options.ahead);
    while (!stop.signal.aborted) {
      // Or the client asks for the consumer's state after a reconnect, and waits for long if nobody answers.
      messages = await source.fetch({ ...asked, bind: true });
      if (stop.signal.aborted) messages.stop();
      if (failingSince !== undefined) void untilHeartbeat(messages);
      for await (const message of messages) {
        failingSince = undefined;
        await options.onMessage(wrap(message));
      }
      failingSince = undefined;
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
        failingSince ??= performance.now();
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
    get failingForMs() {
      return failingSince === undefined ? 0 : performance.now() - failingSince;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await messages?.close();
      await reading;
    },
  };
}

/** What an operator has set for the consumer, or nats-server sets for all, is in the consumer's configuration. */
function withinLimits({ max_batch, max_expires }: ConsumerConfig, ahead: number) {
  const longest = (max_expires || Infinity) / 1_000_000;
  const expires = Math.max(expiresMinMs, Math.min(expiresMs, longest));
  return {
    max_messages: Math.min(ahead, max_batch || Infinity),
    expires,
    idle_heartbeat: Math.min(heartbeatMs, expires / 2),
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
  get traceparent() {
    return traceparentIn(this.#message.headers);
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
