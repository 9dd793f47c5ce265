// What goes wrong: one fault after the other, as the seed has drawn them, until its starter stops it.
import { setTimeout as wait } from 'node:timers/promises';
import { openRandom } from '../../fuzz/random.ts';
import { planFaults } from '../faults.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { folderOfRole, takeRole } from '../role.ts';
import { openStriker, type Striker } from '../strike.ts';

const folder = folderOfRole();
const stop = new AbortController();
const faults = openLedgerFile(folder, 'faults');
let striker: Striker | undefined;
let struck = 0;
let blowing = Promise.resolve();

async function blow(on: Striker): Promise<void> {
  const { seed, rules } = readPlan(folder);
  for (const fault of planFaults(openRandom(seed), rules)) {
    await wait(fault.afterMs, undefined, { signal: stop.signal }).catch(() => undefined);
    if (stop.signal.aborted) return;
    const line = on.strike(fault);
    if (line === undefined) continue;
    faults.write(line);
    struck += 1;
  }
}

async function end(): Promise<void> {
  stop.abort();
  await blowing;
  striker?.[Symbol.dispose]();
}

takeRole(
  {
    async start() {
      striker = openStriker(folder, readPlan(folder).stackPid);
      blowing = blow(striker);
    },
    count: async () => struck,
    stop: end,
  },
  end,
);
