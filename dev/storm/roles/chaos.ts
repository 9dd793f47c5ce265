// Causes the faults of a storm, one after the other, drawn from the seed or from a script, until the starter stops it.
import { setTimeout as wait } from 'node:timers/promises';
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { openRandom } from '../../fuzz/random.ts';
import { clockMs } from '../clock.ts';
import type { ClusterFault } from '../cluster/fault.ts';
import { carryOut } from '../cluster/strikes.ts';
import { planFaults } from '../faults.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { folderOfRole, takeRole } from '../role.ts';
import { openStriker, type Striker } from '../strike.ts';

const folder = folderOfRole();
const stop = new AbortController();
const faults = openLedgerFile(folder, 'faults');
const notes = openLedgerFile(folder, 'notes');
let striker: Striker | undefined;
/** The pause between two faults of a cluster, so that whatever is late can be attributed to the earlier one. */
const calmMs = 3_000;
let struck = 0;
let blowing = Promise.resolve();

/** Carries out the faults one after the other; each begins on a whole cluster. */
async function blowOnCluster(script: readonly ClusterFault[], stackPid: number, nats: string): Promise<void> {
  await using ending = new AsyncDisposableStack();
  const leaders = ending.use(openLedgerFile(folder, 'leaders'));
  const log = openLog({ service: 'storm', level: 'silent' });
  const bus = ending.use(await openBus({ url: nats, name: 'storm', log }));
  for (let nth = 0; !stop.signal.aborted; nth += 1) {
    await wait(calmMs, undefined, { signal: stop.signal }).catch(() => undefined);
    const fault = script[nth % script.length];
    if (fault === undefined || stop.signal.aborted) return;
    faults.write(await carryOut(fault, { folder, stackPid, bus, leaders, signal: stop.signal }));
    struck += 1;
  }
}

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
  await blowing.catch(() => undefined);
  striker?.[Symbol.dispose]();
}

takeRole(
  {
    async start() {
      const { stackPid, nats, rules } = readPlan(folder);
      striker = openStriker(folder, stackPid);
      blowing = rules.cluster === undefined ? blow(striker) : blowOnCluster(rules.cluster, stackPid, nats);
      blowing.catch((error: unknown) => {
        notes.write({ atMs: clockMs(), note: String(error), isViolation: true });
      });
    },
    count: async () => struck,
    stop: end,
  },
  end,
);
