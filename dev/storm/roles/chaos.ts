// Causes the faults of a storm, one after the other, drawn from the seed or from a script, until the starter stops it.
import { openBus } from '@integration-sync/runtime/bus';
import { openRandom } from '../../fuzz/random.ts';
import { carryOut } from '../cluster/strikes.ts';
import type { ClusterFault } from '../fault.ts';
import { planFaults } from '../faults.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { folder, log, noteFailure, pause, stop, stopped, takeRole } from '../role.ts';
import { openStriker, type Striker } from '../strike.ts';

const faults = openLedgerFile(folder, 'faults');
let striker: Striker | undefined;
/** The pause between two faults of a cluster, so that whatever is late can be attributed to the earlier one. */
const calmMs = 3_000;
let struck = 0;
let blowing = Promise.resolve();

/** Carries out the faults one after the other; each begins on a whole cluster. */
async function blowOnCluster(script: readonly ClusterFault[], stackPid: number, url: string): Promise<void> {
  await using bus = await openBus({ url, name: 'storm', log });
  using leaders = openLedgerFile(folder, 'leaders');
  for (let nth = 0; !stopped.aborted; nth += 1) {
    await pause(calmMs);
    const fault = script[nth % script.length];
    if (fault === undefined || stopped.aborted) return;
    faults.write(await carryOut(fault, { folder, stackPid, bus, leaders, signal: stopped }));
    struck += 1;
  }
}

async function blow(on: Striker): Promise<void> {
  const { seed, rules } = readPlan(folder);
  for (const fault of planFaults(openRandom(seed), rules)) {
    await pause(fault.afterMs);
    if (stopped.aborted) return;
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
      const { stackPid, nats, rules } = readPlan(folder);
      striker = openStriker(folder, stackPid);
      const begun =
        rules.cluster === undefined ? blow(striker) : blowOnCluster(rules.cluster, stackPid, nats);
      blowing = begun.catch(noteFailure);
    },
    count: async () => struck,
    stop: end,
  },
  end,
);
