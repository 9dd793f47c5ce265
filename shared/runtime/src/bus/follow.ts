// Reads a stream in order, without acks: the reader keeps its own offset, and starts again from there when a message is missing.
// nats-server keeps only an ephemeral consumer, and deletes the consumer soon after the reader is gone. The reader tells a stream
// without new messages from a server that refuses or stays silent, by heartbeats.
import { setTimeout as wait } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import {
  AckPolicy,
  DeliverPolicy,
  ReplayPolicy,
  type Consumer,
  type ConsumerConfig,
  type ConsumerMessages,
} from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { traceparentIn } from './message.ts';
import { codes, isRefusedWith } from './refusals.ts';

export interface FollowedMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly storedAt: Date;
  /** The `traceparent` of the span that published the message. */
  readonly traceparent?: string | undefined;
  readonly body: Uint8Array;
}

export interface FollowOptions {
  /** Subjects to read; wildcards are allowed, overlaps are not. */
  filters: readonly string[];
  /** The first sequence that the reader lacks, asked for whenever the reader makes a consumer. */
  from: () => Promise<number>;
  /** How many messages a fetch asks for. */
  ahead: number;
  /** The reader takes the next message once the returned promise is settled. */
  onMessage(message: FollowedMessage): void | Promise<void>;
  /** Creates the stream again if the server has lost it. */
  ensure: () => Promise<void>;
}

export interface Reading extends AsyncDisposable {
  /** For how long reading has failed; 0 while a message is being taken, and for a stream without new messages. */
  readonly failingForMs: number;
}

const expiresMs = 30_000;
const heartbeatMs = 1_000;
/** The NATS client refuses a shorter `expires`. */
const expiresMinMs = 1_000;
const inactiveAfterMs = 60_000;
const againMs = 250;
const failingLineMs = 5_000;

/** Reads until disposed, and retries after each error. */
export function follow(connection: Connection, stream: string, options: FollowOptions): Reading {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
  let messages: ConsumerMessages | undefined;
  const failing = openFailing(connection, stream);

  /** In a stream without new messages, only a heartbeat shows that reading works again. */
  const untilHeartbeat = async (fetched: ConsumerMessages): Promise<void> => {
    for await (const { type } of fetched.status()) {
      if (type !== 'heartbeat') continue;
      failing.over();
      return;
    }
  };

  const readOn = async (consumer: Consumer): Promise<void> => {
    const asked = withinLimits((await consumer.info(true)).config, options.ahead);
    let taken = 0;
    while (!stop.signal.aborted) {
      messages = await consumer.fetch({ ...asked, bind: true });
      if (stop.signal.aborted) messages.stop();
      if (failing.isOn) void untilHeartbeat(messages);
      for await (const message of messages) {
        if (stop.signal.aborted) return;
        failing.over();
        const { deliverySequence } = message.info;
        if (deliverySequence !== taken + 1)
          throw new Error(`the reader got message ${deliverySequence} after ${taken}: some are missing`);
        await options.onMessage({
          subject: message.subject,
          sequence: message.seq,
          storedAt: message.time,
          traceparent: traceparentIn(message.headers),
          body: message.data,
        });
        taken = deliverySequence;
      }
      failing.over();
    }
  };

  const readForEver = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        const consumer = await makeConsumer(connection, stream, options);
        try {
          await readOn(consumer);
        } finally {
          // If the deletion fails, nats-server deletes the ephemeral consumer after its inactive threshold.
          void consumer.delete().catch(() => undefined);
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        failing.note(error);
        // The next round of the loop makes a new consumer.
        if (isRefusedWith(error, codes.streamNotFound))
          await Promise.race([ensured(connection, stream, options), stopped]);
      }
      // Not a race with `stopped`: each race would stay in memory until the reader stops.
      await wait(againMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const reading = readForEver();

  return {
    get failingForMs() {
      return failing.forMs;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await messages?.close();
      await reading;
    },
  };
}

/** Since when reading fails, with a log line every 5 s at most. */
function openFailing({ log }: Connection, stream: string) {
  let since: number | undefined;
  let saidAt = -Infinity;
  return {
    get isOn(): boolean {
      return since !== undefined;
    },
    get forMs(): number {
      return since === undefined ? 0 : performance.now() - since;
    },
    over(): void {
      since = undefined;
    },
    note(failure: unknown): void {
      const now = performance.now();
      since ??= now;
      if (now - saidAt < failingLineMs) return;
      saidAt = now;
      log.warn({ err: failure, stream }, 'reading a stream failed, trying again');
    },
  };
}

async function makeConsumer(
  connection: Connection,
  stream: string,
  options: FollowOptions,
): Promise<Consumer> {
  const first = await options.from();
  return connection.whileConnected(async () => {
    const name = `follow-${randomUUID()}`;
    await connection.manager.consumers.add(stream, {
      name,
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(first, 1),
      replay_policy: ReplayPolicy.Instant,
      filter_subjects: [...options.filters],
      inactive_threshold: inactiveAfterMs * 1_000_000,
      mem_storage: true,
      num_replicas: 1,
    });
    return connection.stream.consumers.get(stream, name);
  });
}

/** An operator's limits for all consumers stand in the configuration of each consumer. */
function withinLimits({ max_batch, max_expires }: ConsumerConfig, ahead: number) {
  const longestMs = (max_expires || Infinity) / 1_000_000;
  const expires = Math.max(expiresMinMs, Math.min(expiresMs, longestMs));
  return {
    max_messages: Math.min(ahead, max_batch || Infinity),
    expires,
    idle_heartbeat: Math.min(heartbeatMs, expires / 2),
  };
}

/** Never rejects: a cluster that is short of servers refuses the stream for now, and the reader tries again. */
const ensured = ({ log }: Connection, stream: string, options: FollowOptions): Promise<void> =>
  options.ensure().catch((error: unknown) => {
    log.error({ err: error, stream }, 'a lost stream could not be created, trying again');
  });
