// What a replica does when it takes partitions, gives them back, or loses them to another replica.
//
//   partitions are   this replica
//   ───────────────  ──────────────────────────────────────────────────────────────────────────────────────────────────
//   taken            opens the queues of endpoints that are behind, at their offsets; reads from the floors on
//   given back       stops reading, begins no attempt, waits 500 ms for attempts in flight, and stores the offsets. An
//                    attempt that hangs ends at this replica, which then tells the next owner of a finished event
//   lost             forgets the partitions
import { setTimeout as wait } from 'node:timers/promises';
import type { LogReader } from '../log/reader.ts';
import type { OwnershipChanges } from '../owning/ownership.ts';
import type { TellFinished } from './broadcasts.ts';
import type { ActiveIntegration, Integrations } from './integrations.ts';
import type { Progress } from './progress.ts';

/** How long a handover waits for attempts in flight. An attempt that takes longer stays with the old owner. */
const handoverMs = 500;
const handoverPollMs = 10;

export const openTakeover = (
  integrations: Pick<Integrations, 'begin' | 'ofPartitions' | 'end' | 'freeFrom'>,
  progress: Pick<Progress, 'handOver'>,
  reader: Pick<LogReader, 'add' | 'remove'>,
  tellFinished: TellFinished,
): OwnershipChanges => ({
  async onTaken(taken, offsets) {
    await integrations.begin(taken, offsets);
    await reader.add(taken);
  },
  async onReleased(released) {
    await reader.remove(released);
    const given = integrations.ofPartitions(released);
    const resume = pause(given);
    try {
      await settled(given);
      const inFlight = await progress.handOver(given);
      return async () => {
        integrations.end(released);
        // An event of an ended epoch is missed. From now on the deliverer reports the events that it finishes.
        const finished = inFlight.filter(
          ({ queue, point, epoch }) => queue.subscriber.epoch === epoch && queue.find(point) === undefined,
        );
        await Promise.all(finished.map(({ queue, point }) => tellFinished(queue, point)));
      };
    } catch (error) {
      resume();
      await reader.add(released);
      throw error;
    }
  },
  async onLost(lost) {
    integrations.end(lost);
    await reader.remove(lost);
  },
  onAlive: (alive) => integrations.freeFrom((replica) => alive.includes(replica)),
});

/** No attempt begins for these integrations until the returned function is called. */
function pause(integrations: readonly ActiveIntegration[]): () => void {
  const queues = integrations.flatMap((one) => [...one.queues.values()]);
  for (const queue of queues) queue.pauses += 1;
  return () => {
    for (const queue of queues) queue.pauses -= 1;
  };
}

const isIdle = ({ queues }: ActiveIntegration): boolean =>
  queues.values().every(({ inFlight }) => inFlight === 0);

async function settled(integrations: readonly ActiveIntegration[]): Promise<void> {
  const endMs = performance.now() + handoverMs;
  while (!integrations.every(isIdle) && performance.now() < endMs) await wait(handoverPollMs);
}
