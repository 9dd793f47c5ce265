// The callers that push during a storm.
import { openRandom } from '../../fuzz/random.ts';
import { openCaller } from '../caller.ts';
import { runFloodLane, runHotLane, runPrivateLane, type LaneOptions } from '../lane.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { openPusher } from '../pusher.ts';
import { folder, stop, stopped, takeRole } from '../role.ts';

const files = {
  begun: openLedgerFile(folder, 'begun'),
  ended: openLedgerFile(folder, 'ended'),
  runsRead: openLedgerFile(folder, 'runsRead'),
};
let accepted = 0;
let lanes: Promise<unknown> = Promise.resolve();

const count = (more: number): void => void (accepted += more);

async function start(): Promise<void> {
  const plan = readPlan(folder);
  const { rules, seed } = plan;
  const isFull = (): boolean => accepted >= rules.itemsMax;
  const all = rules.integrations.flatMap((integration, place) => {
    const caller = openCaller(plan, integration);
    const { privateLanes, hotLanes, flood } = rules;
    // The flood comes from one integration.
    const floodLanes = place === 0 ? (flood?.callers ?? 0) : 0;
    return Array.from({ length: privateLanes + hotLanes + floodLanes }, async (_, nth) => {
      const letter = nth < privateLanes ? 'p' : nth < privateLanes + hotLanes ? 'h' : 'f';
      const random = openRandom(seed * 1_000 + place * 100 + nth);
      const lane = `${integration.split('-').at(-1)}${letter}${nth}`;
      const pusher = openPusher({ lane, integration, caller, random, files });
      const options: LaneOptions = { pusher, random, rules, stopped, count, isFull };
      if (letter === 'f' && flood !== undefined) await runFloodLane(options, flood);
      else await (letter === 'p' ? runPrivateLane : runHotLane)(options);
    });
  });
  lanes = Promise.all(all);
}

takeRole({
  start,
  count: async () => accepted,
  async stop() {
    stop.abort();
    await lanes;
  },
});
