// Deliveries per second, and per second of processor time, of the service, a bare loop, the same loop with a log line
// for each delivery, and BullMQ: in turns, so that other work of the machine slows all alike, and by medians.
import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { costTable } from '../costs.ts';
import { addSpent, caller, nothingSpent, spentBy, type Processes } from '../cpu.ts';
import { measured, medianOf } from '../measure.ts';
import { startChild, startRedis } from '../children.ts';
import type { Setting } from '../setting.ts';
import type { House } from './house.ts';

interface Turn {
  perSecond: number;
  /** Deliveries per second of processor time of the delivering process alone. */
  perCoreSecond: number;
}

interface Contender {
  /** The name of the delivering process. */
  process: string;
  processes: Processes;
  /** The names of all processes that take part in a delivery. */
  own: readonly string[];
  deliver(turn: number, count: number): Promise<unknown>;
}

const deliveriesDefault = 10_000;
const turnsDefault = 3;
const inFlight = 8;

export async function benchThroughput({ startHouse, options, say }: Setting): Promise<void> {
  const { deliveries: count = deliveriesDefault, turns = turnsDefault } = options;
  const house = await startHouse();
  await using ending = new AsyncDisposableStack();
  const contenders = new Map<string, Contender>([
    ['bare loop', await openBare(house, ending, 'bare loop')],
    ['bare loop that logs', await openBare(house, ending, 'bare loop that logs')],
    ['webhooks', await openWebhooks(house, ending)],
    ['BullMQ', await openBullMq(house, ending)],
  ]);
  const processes = Object.assign({}, ...Array.from(contenders.values(), (one) => one.processes));
  const results = new Map(Array.from(contenders.keys(), (name) => [name, [] as Turn[]]));
  const costs = Array.from(contenders, ([name, { own }]) => ({
    name,
    spent: nothingSpent(),
    count: turns * count,
    own: [...own, 'receiver', caller],
  }));
  for (let turn = 0; turn < turns + 1; turn += 1) {
    for (const [name, contender] of contenders) {
      const { tookMs, spent } = await measured(() => contender.deliver(turn, count), {
        ...house.processes(),
        ...processes,
      });
      const result = turnOf(count, tookMs, spentBy(spent, contender.process));
      say(
        `  ${name}: ${result.perSecond.toFixed(0)}/s, ${result.perCoreSecond.toFixed(0)} per core-second${turn === 0 ? ' (warm-up)' : ''}`,
      );
      await house.forget();
      if (turn === 0) continue;
      results.get(name)?.push(result);
      for (const cost of costs) if (cost.name === name) addSpent(cost.spent, spent);
    }
  }
  const median = (name: string, field: keyof Turn): number =>
    medianOf((results.get(name) ?? []).map((turn) => turn[field]));
  for (const field of ['perSecond', 'perCoreSecond'] as const) {
    const ours = median('webhooks', field);
    say(`${field}: webhooks ${ours.toFixed(0)}`);
    for (const name of contenders.keys()) {
      const theirs = median(name, field);
      if (name !== 'webhooks') say(`  against ${name}, ${theirs.toFixed(0)}: ${(ours / theirs).toFixed(2)}`);
    }
  }
  for (const line of costTable(costs, { one: 'delivery', in: 'µs' })) say(line);
}

async function openBare(house: House, ending: AsyncDisposableStack, name: string): Promise<Contender> {
  const child = ending.use(await startChild('webhooks/bare.ts'));
  const isLogged = name === 'bare loop that logs';
  return {
    process: name,
    processes: { [name]: [child.pid] },
    own: [name],
    deliver: (turn, count) => child.ask({ url: `${house.receiver}/bare-${turn}`, count, inFlight, isLogged }),
  };
}

async function openWebhooks(house: House, ending: AsyncDisposableStack): Promise<Contender> {
  ending.use(await house.startReplica());
  const path = '/webhooks';
  await house.register(house.receiver + path);
  return {
    process: 'webhooks',
    processes: {},
    own: ['webhooks', 'nats-server', 'database'],
    async deliver(_turn, count) {
      await house.announce(count);
      await house.arrived(path, count);
    },
  };
}

async function openBullMq(house: House, ending: AsyncDisposableStack): Promise<Contender> {
  const redis = ending.use(await startRedis());
  const worker = ending.use(await startChild('webhooks/bullmq.ts', [`${redis.port}`, `${inFlight}`]));
  const queue = new Queue('deliveries', { connection: { host: '127.0.0.1', port: redis.port } });
  ending.defer(() => queue.close());
  return {
    process: 'BullMQ worker',
    processes: { 'BullMQ worker': [worker.pid], Redis: [redis.pid] },
    own: ['BullMQ worker', 'Redis'],
    async deliver(turn, count) {
      const path = `/bullmq-${turn}`;
      for (let from = 0; from < count; from += 500) {
        await queue.addBulk(
          Array.from({ length: Math.min(500, count - from) }, (_, n) =>
            jobOf(house.receiver + path, from + n),
          ),
        );
      }
      await house.arrived(path, count);
    },
  };
}

function jobOf(url: string, n: number) {
  const timestamp = new Date().toISOString();
  const eventId = randomUUID();
  const body = JSON.stringify({
    event: 'supplier.created',
    timestamp,
    integrationId: 'bench',
    data: { externalId: `SUP-${n}`, internalId: 'sup_3f1c0a52b7d94e6f8a21c5d07e9b4413' },
  });
  return {
    name: 'supplier.created',
    data: { url, eventId, timestamp, body },
    opts: { jobId: eventId, attempts: 4, backoff: { type: 'custom' } },
  };
}

const turnOf = (count: number, tookMs: number, usedMs: number): Turn => ({
  perSecond: count / (tookMs / 1_000),
  perCoreSecond: count / (usedMs / 1_000),
});
