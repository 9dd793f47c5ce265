// The callers that push during a storm.
import { openRandom } from '../../fuzz/random.ts';
import { openCaller } from '../caller.ts';
import { runFloodLane, runGrowingLane, runHotLane, runPrivateLane } from '../lane.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { growing, integrationsOf } from '../profile.ts';
import { openPusher } from '../pusher.ts';
import { folder, stop, stopped, takeRole } from '../role.ts';

const files = {
  begun: openLedgerFile(folder, 'begun'),
  ended: openLedgerFile(folder, 'ended'),
  runsRead: openLedgerFile(folder, 'runsRead'),
};
const floodLanes = 2;
let accepted = 0;
let lanes: Promise<unknown> = Promise.resolve();

const count = (more: number): void => void (accepted += more);

async function start(): Promise<void> {
  const plan = readPlan(folder);
  const { rules, seed } = plan;
  const isFull = (): boolean => accepted >= rules.itemsMax;
  const all = integrationsOf(rules).flatMap((integration, place) => {
    const caller = openCaller(plan, integration);
    // Flood lanes push for the first integration alone.
    const floods = rules.isFlooded && place === 0 ? floodLanes : 0;
    const ofUsual = [
      ...Array.from({ length: rules.privateLanes }, () => ['p', runPrivateLane] as const),
      ...Array.from({ length: rules.hotLanes }, () => ['h', runHotLane] as const),
      ...Array.from({ length: floods }, () => ['f', runFloodLane] as const),
    ];
    const own = integration === growing ? [['g', runGrowingLane] as const] : ofUsual;
    return own.map(([letter, run], nth) => {
      const random = openRandom(seed * 1_000 + place * 100 + nth);
      const lane = `${integration.split('-').at(-1)}${letter}${nth}`;
      const pusher = openPusher({ lane, integration, caller, random, files });
      return run({ pusher, random, rules, stopped, count, isFull });
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
