// Causes the faults of a storm, one after the other, drawn from the seed or from a script, until the starter stops it.
import { openBus } from '@integration-sync/runtime/bus';
import { openRandom } from '../../fuzz/random.ts';
import { carryOut } from '../cluster/strikes.ts';
import { planFaults, type ClusterFault } from '../fault.ts';
import { openLedgerFile } from '../ledger.ts';
import type { FaultLine } from '../lines.ts';
import { readPlan } from '../plan.ts';
import { folder, log, noteFailure, pause, stop, stopped, takeRole } from '../role.ts';
import { openStriker } from '../strike.ts';

const lines = openLedgerFile(folder, 'faults');
const ending = new AsyncDisposableStack();
/** The pause between two faults of a cluster, so that whatever is late can be attributed to the earlier one. */
const calmMs = 3_000;
let struck = 0;
let blowing = Promise.resolve();

async function blow<Fault extends { afterMs: number }>(
  faults: Iterable<Fault>,
  strike: (fault: Fault) => Promise<FaultLine | undefined>,
): Promise<void> {
  for (const fault of faults) {
    await pause(fault.afterMs);
    if (stopped.aborted) return;
    const line = await strike(fault);
    if (line === undefined) continue;
    lines.write(line);
    struck += 1;
  }
}

/** Repeats the faults of the script for ever; each begins on a whole cluster. */
function* repeat(script: readonly ClusterFault[]): Generator<ClusterFault & { afterMs: number }> {
  for (;;) for (const fault of script) yield { ...fault, afterMs: calmMs };
}

async function start(): Promise<void> {
  const { seed, stackPid, nats: url, rules } = readPlan(folder);
  if (rules.cluster === undefined) {
    const striker = ending.use(openStriker(folder, stackPid));
    const random = openRandom(seed);
    blowing = blow(planFaults(random, rules), async (fault) => striker.strike(fault)).catch(noteFailure);
  } else {
    const bus = ending.use(await openBus({ url, name: 'storm', log }));
    const leaders = ending.use(openLedgerFile(folder, 'leaders'));
    const on = { folder, stackPid, bus, leaders, signal: stopped };
    blowing = blow(repeat(rules.cluster), (fault) => carryOut(fault, on)).catch(noteFailure);
  }
}

async function end(): Promise<void> {
  stop.abort();
  await blowing;
  await ending.disposeAsync();
}

takeRole({ start, count: async () => struck, stop: end }, end);
