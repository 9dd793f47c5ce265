// Deliveries per second, and per second of processor time, of the service, a bare loop and BullMQ: in turns, so that other
// work of the machine slows all alike, and by medians.
import { Queue } from 'bullmq';
import { startChild, startRedis } from '../children.ts';
import { caller, nothingSpent, spentBy, type Processes } from '../cpu.ts';
import { makeEvents } from '../items.ts';
import { compare } from '../measure.ts';
import { reportOfRates } from '../rates.ts';
import type { Setting } from '../setting.ts';
import type { House } from './house.ts';

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
    ['bare loop', await openBare(house, ending)],
    ['webhooks', await openWebhooks(house, ending)],
    ['BullMQ', await openBullMq(house, ending)],
  ]);
  const processes = Object.assign({}, ...Array.from(contenders.values(), (one) => one.processes));
  const compared = await compare(
    Array.from(contenders, ([name, contender]) => ({
      name,
      async prepare(turn: number) {
        await house.forget();
        return () => contender.deliver(turn, count);
      },
    })),
    { turns, warmUp: 1, processes: () => ({ ...house.processes(), ...processes }) },
  );
  const report = reportOfRates(compared, {
    what: `${count} deliveries, ${inFlight} in flight`,
    one: 'delivery',
    in: 'µs',
    count,
    turns,
    ours: ['webhooks'],
    own: (name) => [...(contenders.get(name)?.own ?? []), 'receiver', caller],
  });
  for (const line of report) say(line);
  const perCoreSecond = (name: string): number => {
    const { spent = nothingSpent() } = compared.get(name) ?? {};
    return (turns * count * 1_000) / spentBy(spent, contenders.get(name)?.process ?? '');
  };
  for (const name of contenders.keys()) {
    const [ours, theirs] = [perCoreSecond('webhooks'), perCoreSecond(name)];
    say(`${name}: ${theirs.toFixed(0)} per core-second of its own process, × ${(ours / theirs).toFixed(2)}`);
  }
}

async function openBare(house: House, ending: AsyncDisposableStack): Promise<Contender> {
  const child = ending.use(await startChild('webhooks/bare.ts'));
  return {
    process: 'bare loop',
    processes: { 'bare loop': [child.pid] },
    own: ['bare loop'],
    deliver: (turn, count) => child.ask({ url: `${house.receiver}/bare-${turn}`, count, inFlight }),
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
        const timestamp = new Date().toISOString();
        await queue.addBulk(
          makeEvents('bench', Math.min(500, count - from)).map(({ id, body }) => ({
            name: 'supplier.created',
            data: { url: house.receiver + path, eventId: id, timestamp, body },
            opts: { jobId: id, attempts: 4, backoff: { type: 'custom' } },
          })),
        );
      }
      await house.arrived(path, count);
    },
  };
}
