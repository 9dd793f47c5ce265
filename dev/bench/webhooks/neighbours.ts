// How much fifty endpoints that never answer delay the deliveries of a healthy endpoint. And a thousand endpoints of one
// integration: whether the time of fan-out grows linearly, and how much memory it takes.
import { readFileSync } from 'node:fs';
import { costTables, type Cost } from '../costs.ts';
import { addSpent, nothingSpent } from '../cpu.ts';
import { figuresOf, measured, quantile, reportLine } from '../measure.ts';
import type { House } from './house.ts';

const hanging = 50;
const rounds = 1_200;
const tickMs = 25;
const turns = 3;
const watched = '/watched';
/** Attempts in flight to a removed endpoint have ended after this time. */
const lastOnesMs = 11_000;

/** Announces one event at a time; resolves with the time from each announcement to its arrival. */
async function lagsOf(house: House): Promise<number[]> {
  await house.forget();
  for (let n = 1; n <= rounds; n += 1) {
    await house.announce(1);
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  await house.arrived(watched, rounds);
  const lags = (await house.seen()).find(({ path }) => path === watched)?.lagsMs ?? [];
  return lags.toSorted((one, other) => one - other);
}

export async function benchHanging(house: House, say: (line: string) => void): Promise<void> {
  await using _replica = await house.startReplica();
  await house.register(house.receiver + watched);
  // The first round warms up and is not measured.
  await lagsOf(house);
  const ratios: number[] = [];
  const costs = ['alone', 'beside'].map((name) => ({ name, spent: nothingSpent(), count: turns * rounds }));
  const measuredLags = async (cost: Cost | undefined): Promise<number[]> => {
    let lags: number[] = [];
    const { spent } = await measured(async () => (lags = await lagsOf(house)), house.processes());
    if (cost !== undefined) addSpent(cost.spent, spent);
    return lags;
  };
  for (let turn = 0; turn < turns; turn += 1) {
    const alone = await measuredLags(costs[0]);
    const neighbours: string[] = [];
    for (let n = 0; n < hanging; n += 1) {
      neighbours.push(await house.register(`${house.receiver}/slow-${turn}-${n}`));
    }
    const beside = await measuredLags(costs[1]);
    for (const id of neighbours) await house.remove(id);
    await new Promise((resolve) => setTimeout(resolve, lastOnesMs));
    const p99 = compareAt(0.99, alone, beside);
    ratios.push(p99.ratio);
    say(`  p99 ${p99.words}; median ${compareAt(0.5, alone, beside).words}`);
  }
  const { medianMs: ratio } = figuresOf(ratios);
  say(
    reportLine(
      `p99 of a healthy endpoint beside ${hanging} that hang, against alone`,
      ratio,
      `median of ${turns} turns`,
      'at most 1.2',
      ratio <= 1.2,
    ),
  );
  for (const line of costTables(costs, { one: 'delivery', in: 'µs' })) say(line);
}

function compareAt(q: number, alone: readonly number[], beside: readonly number[]) {
  const [before, after] = [quantile(alone, q), quantile(beside, q)];
  const ratio = after / before;
  const words = `${before.toFixed(1)} ms alone, ${after.toFixed(1)} ms beside, ${ratio.toFixed(2)} times`;
  return { ratio, words };
}

export async function benchFanout(house: House, say: (line: string) => void): Promise<void> {
  await using replica = await house.startReplica();
  const perDelivery: number[] = [];
  const costs: Cost[] = [];
  let registered = 0;
  for (const endpoints of [100, 1_000]) {
    for (; registered < endpoints; registered += 1) await house.register(`${house.receiver}/fan`);
    // A first delivery closes the circuits of the endpoints.
    await house.announce(1);
    await settled(house, endpoints);
    await house.forget();
    const events = 10_000 / endpoints;
    const times: number[] = [];
    const cost = { name: `${endpoints} endpoints`, spent: nothingSpent(), count: 3 * endpoints * events };
    for (let turn = 0; turn < 4; turn += 1) {
      const { tookMs, spent } = await measured(async () => {
        await house.announce(events);
        await settled(house, endpoints * events);
      }, house.processes());
      await house.forget();
      // The first turn warms up and is not measured.
      if (turn === 0) continue;
      times.push(tookMs);
      addSpent(cost.spent, spent);
    }
    costs.push(cost);
    const { medianMs } = figuresOf(times);
    perDelivery.push(medianMs / (endpoints * events));
    say(
      `  ${endpoints} endpoints, ${events} events each: ${(((endpoints * events) / medianMs) * 1_000).toFixed(0)}/s, ${memoryMb(replica.pid)} MB resident`,
    );
    await house.forget();
  }
  const [few = 1, many = 1] = perDelivery;
  say(
    reportLine(
      'time of a delivery at 1,000 endpoints of one integration, against 100',
      many / few,
      'the same number of deliveries',
      'at most 1.5',
      many / few <= 1.5,
    ),
  );
  for (const line of costTables(costs, { one: 'delivery', in: 'µs' })) say(line);
}

/** Resolves when `count` deliveries have come. All endpoints have one path, so hits count and not different events. */
async function settled(house: House, count: number): Promise<void> {
  for (let tries = 0; tries < 2_400; tries += 1) {
    const hits = (await house.seen()).find((tally) => tally.path === '/fan')?.hits ?? 0;
    if (hits >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the receiver got fewer than ${count} deliveries in time`);
}

function memoryMb(pid: number): number {
  const [, kb] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kb) / 1024);
}
