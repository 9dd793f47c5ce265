// What a push of 500 costs the gateway. Its share is too small to be seen beside what the database does, so
// catalog makes way for something that gives its answer at once, and thousands of pushes are counted. A bare proxy
// takes turns with it, to tell a slow machine from a slow gateway.
import type { Stack } from '../stack/index.ts';
import { startChild } from './children.ts';
import { openClient, type Client } from './client.ts';
import { cpuMs } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { figuresOf, inLanes, reportLine, type Figures } from './measure.ts';

/** Until then V8 still compiles what runs often, on threads of its own, and that is a tenth of the processor time. */
const warmUpPushes = 20_000;
const turns = 5;
const pushesPerTurn = 1_600;
const wantedMs = 0.5;

export async function benchGateway(stack: Stack, client: Client, say: (line: string) => void): Promise<void> {
  const body = pushBody(makeItems('gateway'));
  const answer = await client.post(suppliersPath, body);
  stack.hold('catalog');
  await stack.kill('catalog');
  {
    await using standIn = await startChild('stand-in.ts', [stack.nats]);
    await standIn.ask({ body: answer.body });
    await using proxy = await startChild('bare-proxy.ts', [stack.nats]);
    using bareClient = openClient(String(proxy.greeting), '');
    const { gateway = [] } = stack.pids();
    const ours: Way = { pids: gateway, push: () => client.post(suppliersPath, body) };
    const bare: Way = { pids: [proxy.pid], push: () => bareClient.post(suppliersPath, body) };
    for (const { push } of [ours, bare]) await inLanes(4, warmUpPushes / 4, push);
    for (const lanes of [1, 4]) {
      const oursMs: number[] = [];
      const bareMs: number[] = [];
      for (let turn = 0; turn < turns; turn += 1) {
        oursMs.push(await costOf(lanes, ours));
        bareMs.push(await costOf(lanes, bare));
      }
      say(lineOf(lanes, figuresOf(oursMs), figuresOf(bareMs)));
    }
  }
  await stack.resume('catalog');
}

interface Way {
  pids: readonly number[];
  push: () => Promise<unknown>;
}

/** Milliseconds of a push, in one turn. */
async function costOf(lanes: number, { pids, push }: Way): Promise<number> {
  const before = cpuMs(pids);
  await inLanes(lanes, pushesPerTurn / lanes, push);
  return (cpuMs(pids) - before) / pushesPerTurn;
}

const lineOf = (lanes: number, { ms, medianMs }: Figures, bare: Figures): string =>
  reportLine(
    `ms of processor time of the gateway per push of ${itemsPerPush}, ${lanes} in flight`,
    medianMs,
    `median of ${turns} times ${pushesPerTurn} pushes, ${ms[0]?.toFixed(2)} to ${ms.at(-1)?.toFixed(2)}; a bare proxy ${bare.medianMs.toFixed(2)}`,
    `≤ ${wantedMs}`,
    medianMs <= wantedMs,
  );
