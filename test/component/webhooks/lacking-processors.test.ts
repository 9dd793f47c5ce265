// Two replicas of webhooks that lack processors: each stands still for most of the time, in turns for 0.45 s and for 4.5 s.
// A replica that stands still for 4.5 s is silent for longer than the 2.5 s after which others take its partitions.
import { partitionsNumber } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { sendSignal } from '../../../dev/process/identity.ts';
import { eventually } from '../../support/eventually.ts';
import { openTraffic, patienceMs, timeout } from '../../support/partitions.ts';
import { pause } from '../../support/pause.ts';
import { startWebhookProcess, type WebhookProcess } from '../../support/webhook-process.ts';
import { openHouse } from '../../support/webhooks.ts';

const heldForMs = 14_000;
const short = { stillMs: 450, awakeMs: 50 };
const long = { stillMs: 4_500, awakeMs: 1_500 };
const announceEveryMs = 400;
/** Two takeovers of half of the partitions, and as often back. */
const movesMax = 2 * partitionsNumber;
/** Each takeover repeats what was delivered since the last stored floor: of 8 integrations, some events each. */
const repeatsMax = 2 * 8 * 3;

/** Stops and continues the process in turns until the time is over. */
async function hold({ pid }: WebhookProcess, { stillMs, awakeMs }: typeof short): Promise<void> {
  for (const endsAt = performance.now() + heldForMs; performance.now() < endsAt;) {
    sendSignal(pid, 'SIGSTOP');
    await pause(stillMs);
    sendSignal(pid, 'SIGCONT');
    await pause(awakeMs);
  }
}

/** The numbers of partitions in the lines of this text. */
const partitionsIn = ({ lines }: WebhookProcess, text: string): number[] =>
  lines.flatMap((line) => {
    const { msg, partitions } = JSON.parse(line);
    return msg === text ? [partitions.length] : [];
  });
const takeoversFrom = (replica: WebhookProcess): number =>
  partitionsIn(replica, 'another replica has claimed partitions of this replica').length;
const takenBy = (replica: WebhookProcess): number =>
  partitionsIn(replica, 'this replica claimed partitions').reduce((sum, count) => sum + count, 0);

it(
  'replicas that stop responding in turns take partitions from each other at most once, and lose no event',
  { timeout },
  async () => {
    await using house = await openHouse();
    await using one = await startWebhookProcess(house.environment);
    await using other = await startWebhookProcess(house.environment);
    await using traffic = await openTraffic(house, 4);
    await eventually(
      () => takenBy(other),
      (taken) => taken === partitionsNumber / 2,
      patienceMs,
    );
    const before = takenBy(one) + takenBy(other);
    const turns = new AbortController();
    const held = Promise.all([hold(one, short), hold(other, long)])
      .then(() => Promise.all([hold(one, long), hold(other, short)]))
      .finally(() => turns.abort());
    while (!turns.signal.aborted) {
      await traffic.announce(1);
      await pause(announceEveryMs);
    }
    await held;
    await traffic.delivered();
    const repeats = (await traffic.doubles()).reduce((sum, count) => sum + count - 1, 0);
    const moves = takenBy(one) + takenBy(other) - before;
    const takeovers = Math.max(takeoversFrom(one), takeoversFrom(other));
    expect({ takeovers, moves, repeats }).toSatisfy(
      () => takeovers <= 1 && moves <= movesMax && repeats <= repeatsMax,
    );
  },
);
