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
/**
 * So much of the time before each answer of nats-server counts. While nats-server or this replica stands still, no message
 * comes closer to being handed out again; and when both wake, a reader would be there as soon as the message.
 */
const countedMs = 250;

/** Resolves when no replica reads the consumer or has anything of it in hand, or after a while. */
export type HandedOver = (consumer: string, signal: AbortSignal) => Promise<void>;

export function openHandover(bus: Pick<Bus, 'consumerFacts'>, stream: string): HandedOver {
  return async (consumer, signal) => {
    let leftMs = patienceMs;
    for (let askedAt = performance.now(); !signal.aborted && leftMs > 0;) {
      const { unacknowledged, readersWaiting } = await bus.consumerFacts(stream, consumer);
      if (unacknowledged === 0 && readersWaiting === 0) return;
      await wait(pollMs);
      const now = performance.now();
      leftMs -= Math.min(now - askedAt, countedMs);
      askedAt = now;
    }
  };
}
