// The least processor time of a push of 500 new suppliers: each unavoidable part ("floor") alone, by the same libraries
// in the simplest way, beside the time that gateway and catalog use for the whole push. In turns, all warmed up.
import { startChild, type Child } from './children.ts';
import { addSpent, caller, nothingSpent, otherShare, processors, spentBy, type Spent } from './cpu.ts';
import { partNames, type PartName, type Task } from './floors/task.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { inLanes, measured, medianOf } from './measure.ts';
import { processesOf } from './processes.ts';
import { freshName, settleMs } from './push.ts';
import type { Setting } from './setting.ts';
import { tableOf, type Row } from './table.ts';

const turnsDefault = 7;
const pushesPerTurn = 40;
const lanes = 4;
/** Pushes before the measurement, in which V8 compiles what runs often. */
const warmDefault = 600;
const wantedRatio = 2;

/** The time of one part or process: per push in each turn, and by group of threads in all turns. */
interface Result {
  ms: number[];
  groups: Map<string, number>;
}

const resultOf = (): Result => ({ ms: [], groups: new Map() });

export async function benchFloors({ stack, client, options, say }: Setting): Promise<void> {
  const { turns = turnsDefault, warm = warmDefault } = options;
  await using child = await startChild('floors/child.ts', [stack.nats, stack.mongodb], {
    flags: ['--expose-gc'],
  });
  const push = (pushes: number) => {
    const bodies = Array.from({ length: pushes }, () => pushBody(makeItems(freshName())));
    return () =>
      inLanes(lanes, pushes / lanes, (index) => client.post(suppliersPath, bodies[index] ?? Buffer.alloc(0)));
  };
  const processes = () => ({ ...processesOf(stack), floors: [child.pid] });
  for (let pushed = 0; pushed < warm; pushed += pushesPerTurn) await push(pushesPerTurn)();
  for (const part of partNames) {
    for (let run = 0; run < warm; run += pushesPerTurn)
      await runPart(child, part, async (go) => void (await go()));
  }
  const floors = new Map(partNames.map((part) => [part, resultOf()]));
  const service = new Map<string, Result>();
  const total = nothingSpent();
  for (let turn = 0; turn < turns; turn += 1) {
    const { spent } = await measured(push(pushesPerTurn), processes(), settleMs);
    addSpent(total, spent);
    for (const name of spent.byProcess.keys()) {
      if (name !== 'floors') keep(spent, name, service.get(name) ?? setDefault(service, name));
    }
    for (const [part, result] of floors) {
      await runPart(child, part, async (go) => {
        const run = await measured(go, processes());
        addSpent(total, run.spent);
        keep(run.spent, 'floors', result);
      });
    }
  }
  report({ floors, service, total, turns }, say);
}

function setDefault(results: Map<string, Result>, name: string): Result {
  const result = resultOf();
  results.set(name, result);
  return result;
}

function keep(spent: Spent, process: string, result: Result): void {
  result.ms.push(spentBy(spent, process) / pushesPerTurn);
  for (const [group, ms] of spent.byProcess.get(process) ?? []) {
    result.groups.set(group, (result.groups.get(group) ?? 0) + ms);
  }
}

async function runPart(
  child: Child,
  part: PartName,
  measure: (go: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const ask = (step: Task['step']) => child.ask({ step, part, pushes: pushesPerTurn } satisfies Task);
  await ask('prepare');
  await measure(() => ask('run'));
}

interface Results {
  floors: ReadonlyMap<PartName, Result>;
  service: ReadonlyMap<string, Result>;
  total: Spent;
  turns: number;
}

function report({ floors, service, total, turns }: Results, say: (line: string) => void): void {
  const groups = ['main', 'V8', 'pool'];
  const rowOf = (name: string, { ms, groups: sums }: Result): Row => [
    name,
    medianOf(ms).toFixed(2),
    ...groups.map((group) => ((sums.get(group) ?? 0) / turns / pushesPerTurn).toFixed(2)),
  ];
  const sum = [...floors.values()].reduce((all, { ms }) => all + medianOf(ms), 0);
  const of = (name: string): Result => service.get(name) ?? resultOf();
  const [gateway, catalog] = [of('gateway'), of('catalog')];
  const both = medianOf(gateway.ms.map((ms, turn) => ms + (catalog.ms[turn] ?? 0)));
  const ratio = both / sum;
  const head = ['ms of processor time per push', 'all', ...groups];
  const lines = tableOf(head, [
    ...Array.from(floors, ([part, result]) => rowOf(`  ${part}`, result)),
    ['sum of the floors', sum.toFixed(2)],
    rowOf('  gateway', gateway),
    rowOf('  catalog', catalog),
    ['gateway and catalog', both.toFixed(2)],
    ['beside them'],
    ...[...service.keys()]
      .filter((name) => name !== 'gateway' && name !== 'catalog')
      .map((name) => [`  ${name}`, medianOf(of(name).ms).toFixed(2)]),
  ]);
  say('');
  for (const line of lines) say(line);
  say(
    `gateway and catalog / floors ${ratio.toFixed(2)}, wanted ≤ ${wantedRatio}: ${ratio <= wantedRatio ? 'ok' : 'MISS'}`,
  );
  say(
    `pushes of ${itemsPerPush} new suppliers, ${lanes} in flight; medians of ${turns} turns of ${pushesPerTurn}, threads by the mean`,
  );
  say(
    `${caller} is what pushes and measures; other work took ${(otherShare(total) * 100).toFixed(0)} % of ${processors} processors`,
  );
}
