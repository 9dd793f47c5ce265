// One, two and four partitions, with one replica and with two: how soon they fan out and deliver what many integrations have
// waiting, as after an outage of webhooks. The replicas, nats-server, the database and the receiver share the processors of
// one machine here, and more partitions give it no more of them.
import { setTimeout as wait } from 'node:timers/promises';
import { eventBatchesStream } from '@integration-sync/contracts';
import { costTables, type Cost } from '../costs.ts';
import { beginMeasuring } from '../cpu.ts';
import type { House } from './house.ts';

const integrations = Array.from({ length: 40 }, (_, n) => `customer-${n}`);
const perBundle = 20;
const eventsEach = Number(process.env['BENCH_PARTITIONS'] ?? 300);
const all = integrations.length * eventsEach;
const turns = 2;
/** In this order, as partitions are raised and not lowered. */
const settings = [1, 2, 4].flatMap((partitions) => [1, 2].map((replicas) => ({ partitions, replicas })));
const pollMs = 10;

interface Setting {
  partitions: number;
  replicas: number;
}

export async function benchPartitions(house: House, say: (line: string) => void): Promise<void> {
  {
    await using _replica = await house.startReplica();
    for (const name of integrations) await house.register(`${house.receiver}/${name}`, name);
    // Opens their gates.
    for (const name of integrations) await house.announce(1, 1, name);
    await until(async () => (await distinct(house)) === integrations.length);
  }
  const costs: Cost[] = [];
  for (const setting of settings) {
    const name = `${setting.partitions} partitions, ${setting.replicas} replicas`;
    for (let turn = 0; turn < turns; turn += 1) {
      const { fannedOutMs, deliveredMs, spent } = await drain(house, setting);
      costs.push({ name: `${name}, turn ${turn + 1}`, spent, count: all });
      const [fannedOut, delivered] = [fannedOutMs, deliveredMs].map((ms) => ((all / ms) * 1_000).toFixed(0));
      say(`  ${name}: ${fannedOut} events/s fanned out, ${delivered}/s delivered`);
    }
  }
  for (const line of costTables(costs, { one: 'delivery', in: 'µs' })) say(line);
}

async function drain(house: House, { partitions, replicas }: Setting) {
  const environment = { DELIVERY_PARTITIONS: String(partitions) };
  // Bundles come under the number that is in force when they come.
  await (await house.startReplica(environment))[Symbol.asyncDispose]();
  await house.forget();
  await Promise.all(integrations.map((name) => house.announce(eventsEach, perBundle, name)));
  const waiting = async (): Promise<number> => (await house.bus.streamFacts(eventBatchesStream)).messages;
  const announced = await waiting();

  await using started = new AsyncDisposableStack();
  const starting = Array.from({ length: replicas }, () => house.startReplica(environment));
  for (const replica of await Promise.all(starting)) started.use(replica);
  // A replica of several partitions knows the others first.
  await until(async () => (await waiting()) < announced);
  const end = beginMeasuring(house.processes());
  const began = performance.now();
  await until(async () => (await waiting()) === 0);
  const fannedOutMs = performance.now() - began;
  await until(async () => (await distinct(house)) === all);
  return { fannedOutMs, deliveredMs: performance.now() - began, spent: end() };
}

const distinct = async (house: House): Promise<number> =>
  (await house.seen()).reduce((sum, tally) => sum + tally.distinct, 0);

const withinMs = 120_000;

async function until(holds: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error('what was announced is not delivered');
    await wait(pollMs);
  }
}
