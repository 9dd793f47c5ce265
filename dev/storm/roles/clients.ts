// The callers that push.
import { openRandom } from '../../fuzz/random.ts';
import { openCaller } from '../caller.ts';
import { runHotLane, runPrivateLane, type LaneOptions } from '../lane.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { openPusher } from '../pusher.ts';
import { folderOfRole, takeRole } from '../role.ts';

const folder = folderOfRole();
const stop = new AbortController();
const files = {
  begun: openLedgerFile(folder, 'begun'),
  ended: openLedgerFile(folder, 'ended'),
  runsRead: openLedgerFile(folder, 'runs-read'),
};
let accepted = 0;
let lanes: Promise<unknown> = Promise.resolve();

function startLanes(): void {
  const plan = readPlan(folder);
  const { rules, seed } = plan;
  const goesOn = (more: number): boolean => (accepted += more) < rules.itemsMax;
  const all = rules.integrations.flatMap((integration, place) => {
    const caller = openCaller(plan, integration);
    return Array.from({ length: rules.privateLanes + rules.hotLanes }, async (_, nth) => {
      const isPrivate = nth < rules.privateLanes;
      const random = openRandom(seed * 1_000 + place * 100 + nth);
      const lane = `${integration.at(-1)}${isPrivate ? 'p' : 'h'}${nth}`;
      const pusher = openPusher({ lane, integration, caller, random, files });
      const options: LaneOptions = { pusher, random, rules, stopped: stop.signal, goesOn };
      await (isPrivate ? runPrivateLane : runHotLane)(options);
    });
  });
  lanes = Promise.all(all);
}

takeRole({
  async start() {
    startLanes();
  },
  count: async () => accepted,
  async stop() {
    stop.abort();
    await lanes;
  },
});
