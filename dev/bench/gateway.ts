// What a push of 500 costs the gateway. Its share is too small to be seen beside what the database does, so
// catalog makes way for something that gives its answer at once, and thousands of pushes are counted.
import type { Stack } from '../stack/index.ts';
import { startChild } from './children.ts';
import type { Client } from './client.ts';
import { cpuMs } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { figuresOf, inLanes, reportLine, type Figures } from './measure.ts';

/** Until then V8 still compiles what runs often. */
const warmUpPushes = 6_000;
const turns = 5;
const pushesPerTurn = 1_600;
const wantedMs = 0.5;

export async function benchGateway(stack: Stack, client: Client, say: (line: string) => void): Promise<void> {
  const body = pushBody(makeItems('gateway'));
  const push = () => client.post(suppliersPath, body);
  const answer = await push();
  stack.hold('catalog');
  await stack.kill('catalog');
  {
    await using standIn = await startChild('stand-in.ts', [stack.nats]);
    await standIn.ask({ body: answer.body });
    await inLanes(4, warmUpPushes / 4, push);
    for (const lanes of [1, 4]) say(lineOf(lanes, await costOf(stack, lanes, push)));
  }
  await stack.resume('catalog');
}

/** Milliseconds of a push, by turn. */
async function costOf(stack: Stack, lanes: number, push: () => Promise<unknown>): Promise<Figures> {
  const { gateway = [] } = stack.pids();
  const ms: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const before = cpuMs(gateway);
    await inLanes(lanes, pushesPerTurn / lanes, push);
    ms.push((cpuMs(gateway) - before) / pushesPerTurn);
  }
  return figuresOf(ms);
}

const lineOf = (lanes: number, { ms, medianMs }: Figures): string =>
  reportLine(
    `ms of processor time of the gateway per push of ${itemsPerPush}, ${lanes} in flight`,
    medianMs,
    `median of ${turns} times ${pushesPerTurn} pushes, ${ms[0]?.toFixed(2)} to ${ms.at(-1)?.toFixed(2)}`,
    `≤ ${wantedMs}`,
    medianMs <= wantedMs,
  );
