// Reading a durable consumer: messages come in bounded numbers, and the reader settles each. A reader knows for how long it
// has got nothing from nats-server but refusals or silence, as one that has nothing to read looks the same. Where the consumer
// has another leader, the new one knows of no reader: the client asks it again, several times a second until there is one.
import { setTimeout as wait } from 'node:timers/promises';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { openConsumerKeeper } from './known-consumer.ts';
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
  /**
   * Another process reads on where this one ends. So it ends by asking for no more, and takes what nats-server has on the
   * way: what a client that closes its ears does not hear, another gets only after a while, behind newer messages.
   */
  handsOver?: boolean;
}

export interface Reading extends AsyncDisposable {
  /** For how long nothing could be read; 0 where there may be nothing to read, and while a message is being taken. */
  readonly failingForMs: number;
}

/** A consumer that has another leader is asked this soon after it has one. */
const againMs = 250;
const failingLineMs = 5_000;
/** Longer than one that hands over asks for at a time. */
const handOverMs = 3_000;

/** Reads until disposed, through whatever happens to the server. */
export function consume(
  connection: Connection,
  stream: string,
  consumer: string,
  options: ConsumeOptions,
): Reading {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
  const keeper = openConsumerKeeper(connection, stream, consumer, options);
  let messages: ConsumerMessages | undefined;
  let failingSince: number | undefined;
  let saidAt = -Infinity;

  /** Where there is nothing to read, nothing but a heartbeat tells that there would be. */
  const untilHeartbeat = async (fetched: ConsumerMessages): Promise<void> => {
    for await (const { type } of fetched.status()) {
      if (type !== 'heartbeat') continue;
      failingSince = undefined;
      return;
    }
  };

  // The client's own endless `consume` asks for more as messages arrive, not as they are taken: a reader that is
  // slow would have the whole backlog in its memory, and nats-server would hand it out again when the reader
  // acknowledges nothing.
  const readOn = async (): Promise<void> => {
    const { source, asked } = await keeper.get();
    while (!stop.signal.aborted) {
      // Or the client asks for the consumer's state after a reconnect, and waits for long if no server answers.
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

  const note = (failure: unknown): void => {
    const now = performance.now();
    failingSince ??= now;
    if (now - saidAt < failingLineMs) return;
    saidAt = now;
    connection.log.warn({ err: failure, stream, consumer }, 'reading a consumer failed, trying again');
  };

  const readForEver = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await readOn();
      } catch (error) {
        if (stop.signal.aborted) return;
        note(error);
        // Which may take for as long as the server does.
        await Promise.race([keeper.onFailure(error), stopped]);
      }
      if (!stop.signal.aborted) await Promise.race([wait(againMs), stopped]);
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
      if (options.handsOver === true)
        await Promise.race([reading, wait(handOverMs, undefined, { ref: false })]);
      await messages?.close();
      await reading;
    },
  };
}

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
