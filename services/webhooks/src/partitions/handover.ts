// Where a partition goes from one replica to another, the second begins when the first asks for nothing more and has
// settled what it had in hand: or both would work on one integration's events side by side.
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';

/**
 * What a replica that died or stands still had in hand nats-server hands out again after four seconds, of which the others
 * have taken two and a half to notice; to the replica that reads, before anything else. The rest is for a nats-server that is slow:
 * what it hands out again after newer messages has lost its order.
 */
const patienceMs = 5_000;
const pollMs = 20;

/** Resolves when no replica reads the consumer or has anything of it in hand, or after a while. */
export type HandedOver = (consumer: string, signal: AbortSignal) => Promise<void>;

export function openHandover(bus: Pick<Bus, 'consumerFacts'>, stream: string): HandedOver {
  return async (consumer, signal) => {
    const until = performance.now() + patienceMs;
    while (!signal.aborted && performance.now() < until) {
      const { unacknowledged, readersWaiting } = await bus.consumerFacts(stream, consumer);
      if (unacknowledged === 0 && readersWaiting === 0) return;
      await wait(pollMs);
    }
  };
}
