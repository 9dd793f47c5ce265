// Reads one integration's own way with a consumer of its own, until it is disposed.
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { backlogConsumer, deliveriesStream } from '../streams/streams.ts';

export interface BacklogReaderOptions {
  bus: Pick<Bus, 'consume' | 'ensureConsumer' | 'consumerFacts' | 'streamFacts'>;
  /** While the promise that it returns is open, the reader takes no further message of that integration. */
  onMessage: (message: StreamMessage) => void | Promise<void>;
  /** Makes the stream again, should nats-server have lost it. */
  ensure: () => Promise<void>;
  /** The consumer by which the integration's parcels leave the shared way; undefined while none does. */
  sharedConsumerOf: (integration: string) => string | undefined;
  log: Log;
}

const parcelsAhead = 2;
/** When the shared way has not come so far by then, other integrations hold it up. */
const patienceMs = 2_000;
const pollMs = 20;

export function openBacklogReader(
  integration: string,
  { bus, onMessage, ensure, sharedConsumerOf, log }: BacklogReaderOptions,
  onFailed: () => void,
): AsyncDisposable {
  const consumer = backlogConsumer(integration);
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));

  // A reader that is to end no longer waits for room.
  const take = (message: StreamMessage): void | Promise<void> => {
    const room = onMessage(message);
    return room && Promise.race([room, stopped]);
  };

  const makeAgain = async (): Promise<void> => {
    await ensure();
    await bus.ensureConsumer(deliveriesStream, consumer);
  };

  const open = async (): Promise<AsyncDisposable | undefined> => {
    try {
      await sharedWayRead(bus, () => sharedConsumerOf(integration), stop.signal);
      if (stop.signal.aborted) return undefined;
      await bus.ensureConsumer(deliveriesStream, consumer);
    } catch (error) {
      log.debug({ err: error, integration }, 'a backlog cannot be read yet, trying again');
      onFailed();
      return undefined;
    }
    const reading = { ahead: parcelsAhead, onMessage: take, ensure: makeAgain };
    return bus.consume(deliveriesStream, consumer.name, reading);
  };
  const opening = open();

  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await (await opening)?.[Symbol.asyncDispose]();
    },
  };
}

/** What the integration has on the shared way is older, and goes first. */
async function sharedWayRead(
  bus: Pick<Bus, 'consumerFacts' | 'streamFacts'>,
  sharedConsumer: () => string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { lastSequence } = await bus.streamFacts(deliveriesStream);
  for (let waitedMs = 0; waitedMs < patienceMs && !signal.aborted; waitedMs += pollMs) {
    const consumer = sharedConsumer();
    if (consumer !== undefined) {
      const { handedOutThrough, pending } = await bus.consumerFacts(deliveriesStream, consumer);
      if (pending === 0 || handedOutThrough >= lastSequence) return;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
