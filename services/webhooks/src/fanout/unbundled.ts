// Events that have no bundle, as catalog and batches of the release before publish them. Its webhooks has left a consumer of
// EVENTS behind; an installation that began with bundles has none. A replica reads that consumer beside the bundles for as
// long as it is there: whether an older catalog, batches or webhooks may still come, or come back, only an operator
// knows, who removes the consumer then (docs/operating.md).
import { bundledHeaders, eventsStream } from '@integration-sync/contracts';
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';

export interface UnbundledOptions {
  bus: Pick<Bus, 'consume'>;
  take: (message: StreamMessage) => void;
  log: Log;
}

export const unbundledConsumer = 'webhook-fanout';
const ahead = 1_000;

export function readUnbundled({ bus, take, log }: UnbundledOptions): AsyncDisposable {
  log.info({ consumer: unbundledConsumer }, 'events without a bundle are read as well');
  let stopped: PromiseLike<void> | undefined;
  const stop = (): PromiseLike<void> => (stopped ??= reading[Symbol.asyncDispose]());
  const reading = bus.consume(eventsStream, unbundledConsumer, {
    ahead,
    onMessage(message) {
      if (isBundled(message)) message.ack();
      else take(message);
    },
    async ensure() {
      log.info({ consumer: unbundledConsumer }, 'events without a bundle are no longer read');
      void stop();
    },
  });
  return { [Symbol.asyncDispose]: stop };
}

const isBundled = ({ headers }: StreamMessage): boolean =>
  Object.keys(bundledHeaders).every((name) => headers.has(name));
