// What a replica does when it claims partitions, releases them, or loses them to another replica.
//
//   partitions are   what this replica does
//   ───────────────  ──────────────────────────────────────────────────────────────────────────────────────────────────
//   claimed          opens the queues of endpoints that are behind, at their offsets; reads from the floors on
//   released         stops reading, waits 5 s for purges after erasings, begins no attempt, waits 500 ms for attempts in
//                    flight, cuts the others off, and stores the offsets. An attempt that is cut off is not used up: the
//                    new owner makes it again, and a receiver that is slower than 500 ms may get the event twice
//   lost             cuts attempts in flight off, and forgets the partitions
import { setTimeout as wait } from 'node:timers/promises';
import type { LogReader } from '../log/log-reader.ts';
import type { OwnershipChanges } from '../owning/ownership.ts';
import type { Erasings } from './erasings.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { ActiveIntegration, Integrations } from './owned-integrations.ts';
import type { Progress } from './progress.ts';

const pollMs = 10;
/** A releasing replica polls for 500 ms whether attempts have ended: in a longer wait few more attempts would end. */
const pollsForAnswers = 50;
/** A replica polls for 150 ms whether cut-off attempts have ended. MongoDB may take longer to store their outcomes. */
const pollsForCutOff = 15;

export const openTakeover = (
  integrations: Pick<Integrations, 'begin' | 'ofPartitions' | 'end'>,
  progress: Pick<Progress, 'handBack'>,
  reader: Pick<LogReader, 'add' | 'remove'>,
  erasings: Pick<Erasings, 'ended'>,
  wake: (queue: EndpointQueue) => void,
  log: { info: (fields: object, text: string) => void },
): OwnershipChanges => ({
  async onTaken(taken, offsets) {
    await integrations.begin(offsets);
    await reader.add(taken);
  },
  async onReleased(released) {
    await reader.remove(released);
    await erasings.ended(released);
    const given = integrations.ofPartitions(released);
    pause(given, true);
    try {
      await ended(given, pollsForAnswers);
      const unanswered = given.reduce((sum, one) => sum + inFlightOf(one), 0);
      if (unanswered > 0)
        log.info(
          { attempts: unanswered },
          'delivery attempts were cut off: the next owner of their partition repeats them',
        );
      for (const { attempts } of given) attempts.abort(new Error('this replica releases the partition'));
      await ended(given, pollsForCutOff);
      await progress.handBack(given);
      return () => integrations.end(released);
    } catch (error) {
      for (const one of given) one.attempts = new AbortController();
      pause(given, false);
      // While these queues were paused, the scheduler skipped them: `wake` makes it look at them again.
      for (const { queues } of given) for (const queue of queues.values()) wake(queue);
      await reader.add(released);
      throw error;
    }
  },
  async onLost(lost) {
    integrations.end(lost);
    await reader.remove(lost);
  },
});

function pause(integrations: readonly ActiveIntegration[], isPaused: boolean): void {
  for (const { queues } of integrations) for (const queue of queues.values()) queue.isPaused = isPaused;
}

const inFlightOf = ({ queues }: ActiveIntegration): number =>
  queues.values().reduce((sum, { inFlight }) => sum + inFlight, 0);

/** Counts polls, not time, so that a process without processor time first reads the answers that have arrived. */
async function ended(integrations: readonly ActiveIntegration[], polls: number): Promise<void> {
  for (let poll = 0; poll < polls && integrations.some((one) => inFlightOf(one) > 0); poll += 1)
    await wait(pollMs);
}
