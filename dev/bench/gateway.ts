// The processor time of the gateway for a push of 500. Beside the work of the database it would be too small to
// measure, so a stand-in answers immediately in place of catalog, and thousands of pushes are counted. A bare proxy takes
// turns with the gateway, to tell a slow machine from a slow gateway.
import { startChild } from './children.ts';
import { openClient } from './client.ts';
import { costTables } from './costs.ts';
import { addSpent, caller, nothingSpent, spentBy, type Processes, type Spent } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { figuresOf, inLanes, measured, reportLine, type Figures } from './measure.ts';
import { processesOf } from './processes.ts';
import type { Setting } from './setting.ts';

/** Pushes before the measurement: until then V8 compiles on threads of its own, a tenth of the processor time. */
const warmUpPushes = 20_000;
const turnsDefault = 5;
const pushesPerTurn = 1_600;
const wantedMs = 0.5;

export async function benchGateway({ stack, client, options, say }: Setting): Promise<void> {
  const turns = options.turns ?? turnsDefault;
  const body = pushBody(makeItems('gateway'));
  const answer = await client.post(suppliersPath, body);
  stack.hold('catalog');
  await stack.kill('catalog');
  {
    await using standIn = await startChild('stand-in.ts', [stack.nats]);
    await standIn.ask({ body: answer.body });
    await using proxy = await startChild('bare-proxy.ts', [stack.nats]);
    using bareClient = openClient(String(proxy.greeting), '');
    const processes = { ...processesOf(stack), 'stand-in': [standIn.pid], 'bare proxy': [proxy.pid] };
    const ours: Way = { process: 'gateway', push: () => client.post(suppliersPath, body) };
    const bare: Way = { process: 'bare proxy', push: () => bareClient.post(suppliersPath, body) };
    for (const { push } of [ours, bare]) await inLanes(4, (options.warm ?? warmUpPushes) / 4, push);
    for (const lanes of [1, 4]) {
      const results = [resultOf(), resultOf()] as const;
      for (let turn = 0; turn < turns; turn += 1) {
        await takeTurn(lanes, ours, processes, results[0]);
        await takeTurn(lanes, bare, processes, results[1]);
      }
      const [gateway, bareProxy] = results;
      say(lineOf(lanes, figuresOf(gateway.ms), figuresOf(bareProxy.ms)));
      const costs = [
        { name: 'gateway', spent: gateway.spent, count: turns * pushesPerTurn, own: ['gateway', ...behind] },
        {
          name: 'bare proxy',
          spent: bareProxy.spent,
          count: turns * pushesPerTurn,
          own: ['bare proxy', ...behind],
        },
      ];
      for (const line of costTables(costs, { one: 'push' })) say(line);
    }
  }
  await stack.resume('catalog');
  await stack.ready(60_000);
}

const behind = ['stand-in', 'nats-server', caller];

interface Way {
  process: string;
  push: () => Promise<unknown>;
}

interface Result {
  /** For each turn, milliseconds of the measured process alone per push. */
  ms: number[];
  spent: Spent;
}

const resultOf = (): Result => ({ ms: [], spent: nothingSpent() });

async function takeTurn(
  lanes: number,
  { process, push }: Way,
  processes: Processes,
  result: Result,
): Promise<void> {
  const { spent } = await measured(() => inLanes(lanes, pushesPerTurn / lanes, push), processes);
  result.ms.push(spentBy(spent, process) / pushesPerTurn);
  addSpent(result.spent, spent);
}

const lineOf = (lanes: number, { ms, medianMs }: Figures, bare: Figures): string =>
  reportLine(
    `ms of processor time of the gateway per push of ${itemsPerPush}, ${lanes} in flight`,
    medianMs,
    `median of ${ms.length} times ${pushesPerTurn} pushes, ${ms[0]?.toFixed(2)} to ${ms.at(-1)?.toFixed(2)}; a bare proxy ${bare.medianMs.toFixed(2)}`,
    `≤ ${wantedMs}`,
    medianMs <= wantedMs,
  );
