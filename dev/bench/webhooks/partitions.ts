// How fast one replica and two deliver the backlog of many integrations, as after an outage of webhooks. Replicas,
// nats-server, database and receiver share the processors of one machine here, so a second replica adds no processors.
import { setTimeout as wait } from 'node:timers/promises';
import { costTables, type Cost } from '../costs.ts';
import { beginMeasuring } from '../cpu.ts';
import type { House } from './house.ts';

const integrations = Array.from({ length: 40 }, (_, n) => `customer-${n}`);
const perBatch = 20;
const eventsEach = Number(process.env['BENCH_PARTITIONS'] ?? 300);
const all = integrations.length * eventsEach;
const turns = 3;
const pollMs = 10;

export async function benchPartitions(house: House, say: (line: string) => void): Promise<void> {
  {
    await using _replica = await house.startReplica();
    for (const name of integrations) await house.register(`${house.receiver}/${name}`, name);
    // A first delivery closes the circuits of the endpoints.
    for (const name of integrations) await house.announce(1, 1, name);
    await until(async () => (await distinct(house)) === integrations.length);
  }
  const costs: Cost[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    for (const replicas of [1, 2]) {
      const { deliveredMs, spent } = await drain(house, replicas);
      costs.push({ name: `${replicas} replicas, turn ${turn}`, spent, count: all });
      say(`  ${replicas} replicas: ${((all / deliveredMs) * 1_000).toFixed(0)}/s delivered`);
    }
  }
  for (const line of costTables(costs, { one: 'delivery', in: 'µs' })) say(line);
}

async function drain(house: House, replicas: number) {
  await house.forget();
  await Promise.all(integrations.map((name) => house.announce(eventsEach, perBatch, name)));
  await using started = new AsyncDisposableStack();
  const starting = Array.from({ length: replicas }, () => house.startReplica());
  for (const replica of await Promise.all(starting)) started.use(replica);
  await until(async () => (await distinct(house)) > 0);
  const end = beginMeasuring(house.processes());
  const began = performance.now();
  await until(async () => (await distinct(house)) === all);
  return { deliveredMs: performance.now() - began, spent: end() };
}

const distinct = async (house: House): Promise<number> =>
  (await house.seen()).reduce((sum, tally) => sum + tally.distinct, 0);

const withinMs = 120_000;

async function until(holds: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error('not all announced events were delivered in time');
    await wait(pollMs);
  }
}
