// Events that have no bundle, as catalog and batches of the release before publish them. Its webhooks has left a consumer of
// EVENTS behind; an installation that began with bundles has none. This replica reads that consumer beside the bundles
// until no event without one has come for an hour, and removes it then.
import { bundledHeaders, eventsStream } from '@integration-sync/contracts';
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';

export interface UnbundledOptions {
  bus: Pick<Bus, 'consume' | 'consumerFacts' | 'removeConsumer'>;
  take: (message: StreamMessage) => void;
  log: Log;
  /** An hour unless given. */
  quietMs?: number;
}

export const unbundledConsumer = 'webhook-fanout';
const ahead = 1_000;
const hourMs = 60 * 60 * 1_000;
const looksPerQuiet = 60;

export function readUnbundled({ bus, take, log, quietMs = hourMs }: UnbundledOptions): AsyncDisposable {
  let lastAt = performance.now();
  const stop = (): Promise<void> => {
    clearInterval(timer);
    return Promise.resolve(reading[Symbol.asyncDispose]());
  };
  const reading = bus.consume(eventsStream, unbundledConsumer, {
    ahead,
    onMessage(message) {
      if (isBundled(message)) {
        message.ack();
        return;
      }
      lastAt = performance.now();
      take(message);
    },
    // Another replica has removed it.
    ensure: async () => void stop(),
  });
  const look = async (): Promise<void> => {
    if (performance.now() - lastAt < quietMs) return;
    const { pending } = await bus.consumerFacts(eventsStream, unbundledConsumer);
    if (pending > 0) return;
    await bus.removeConsumer(eventsStream, unbundledConsumer);
    log.info(
      { consumer: unbundledConsumer },
      'every event has a bundle, so events are no longer read one by one',
    );
    await stop();
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) =>
      log.debug({ err: error }, 'a consumer could not be removed, trying again'),
    );
  }, quietMs / looksPerQuiet);
  return { [Symbol.asyncDispose]: stop };
}

const isBundled = ({ headers }: StreamMessage): boolean =>
  Object.keys(bundledHeaders).every((name) => headers.has(name));
