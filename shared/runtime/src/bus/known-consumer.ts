// A consumer as nats-server has described it, which a reader asks for messages. Where the consumer has no leader for now, it
// is kept as it is: nats-server describes none while a cluster elects one. A consumer that is gone is made again.
import { JetStreamApiError, JetStreamError, type Consumer, type ConsumerConfig } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';

export interface KnownConsumer {
  source: Consumer;
  /** How a reader asks for messages. */
  asked: ReturnType<typeof withinLimits>;
}

export interface ConsumerKeeper {
  get(): Promise<KnownConsumer>;
  /** Resolves when it makes sense to ask again. */
  onFailure(failure: unknown): Promise<void>;
}

export interface KeeperOptions {
  /** How many messages are asked for ahead of being taken. */
  ahead: number;
  /** Makes stream and consumer again. */
  ensure(): Promise<void>;
  /** Asks for a short while at a time, as it ends only when nothing is asked for any more. */
  handsOver?: boolean;
}

const heartbeatMs = 1_000;
const expiresMs = 30_000;
/** A client misses no heartbeat sooner. */
const handOverMs = 2_000;
/** The shortest that the client takes. */
const expiresMinMs = 1_000;

export function openConsumerKeeper(
  connection: Connection,
  stream: string,
  consumer: string,
  options: KeeperOptions,
): ConsumerKeeper {
  let known: KnownConsumer | undefined;
  let looking: Promise<void> | undefined;
  let isGone = false;

  /** Beside the reading, as a cluster without a leader answers this after seconds or not at all. */
  const look = async (): Promise<void> => {
    const asking = connection.whileConnected(() => connection.manager.consumers.info(stream, consumer));
    await asking.catch((error: unknown) => {
      isGone = isMissing(error);
    });
    looking = undefined;
  };

  return {
    async get() {
      if (known !== undefined) return known;
      const source = await connection.stream.consumers.get(stream, consumer);
      known = { source, asked: withinLimits((await source.info(true)).config, options) };
      return known;
    },
    async onFailure(failure) {
      if (isMissing(failure)) isGone = true;
      else if (isLeaderless(failure)) looking ??= look();
      // Its limits may be others now.
      else known = undefined;
      if (!isGone) return;
      isGone = false;
      known = undefined;
      // Refused for now, as by a cluster that is short of servers, it is tried again as well.
      await options.ensure().catch((error: unknown) => {
        connection.log.error({ err: error, stream, consumer }, 'a stream cannot be made again, trying again');
      });
    },
  };
}

/** What an operator has set for the consumer, or nats-server sets for all, is in the consumer's configuration. */
function withinLimits({ max_batch, max_expires }: ConsumerConfig, { ahead, handsOver }: KeeperOptions) {
  const longest = (max_expires || Infinity) / 1_000_000;
  const expires = Math.max(expiresMinMs, Math.min(handsOver === true ? handOverMs : expiresMs, longest));
  return {
    max_messages: Math.min(ahead, max_batch || Infinity),
    expires,
    idle_heartbeat: Math.min(heartbeatMs, expires / 2),
  };
}

const isMissing = (error: unknown): boolean =>
  (error instanceof JetStreamApiError && error.status === 404) ||
  (error instanceof Error && /not found|deleted/i.test(error.message));

/** The consumer has no leader for now, has another one, or its server stands still. */
const isLeaderless = (error: unknown): boolean =>
  error instanceof JetStreamError &&
  /no responders|heartbeats missed|leadership change|server shutdown/i.test(error.message);
