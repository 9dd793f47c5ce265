// 40 integrations on one, two and four replicas, each with few deliveries in flight, to receivers that take 50 ms: so the
// in-flight limit bounds the rate of a replica, and the processors do not. Counting ends when three in four deliveries have
// arrived: until then every replica has work, although integrations are not spread evenly.
import { setTimeout as wait } from 'node:timers/promises';
import { costTable, type Cost } from '../costs.ts';
import { measured, reportLine } from '../measure.ts';
import type { Setting } from '../setting.ts';

const integrations = Array.from({ length: 40 }, (_, n) => ({ name: `spread-${n}`, path: `/lag-${n}` }));
const events = 100;
const deliveries = integrations.length * events;
const countedShare = 0.75;
const settings = { WEBHOOK_IN_FLIGHT_MAX: '8' };
const wanted = { two: 1.75, four: 3 };

export async function benchReplicas({ startHouse, say }: Setting): Promise<void> {
  const house = await startHouse();
  await using stack = new AsyncDisposableStack();
  const announce = (count: number): Promise<unknown> =>
    Promise.all(integrations.map(({ name }) => house.announce(count, 1, name)));
  const hits = async (): Promise<number> => (await house.seen()).reduce((sum, tally) => sum + tally.hits, 0);
  const arrived = async (count: number): Promise<number> => {
    for (;;) {
      const now = await hits();
      if (now >= count) return now;
      await wait(20);
    }
  };
  const rates: number[] = [];
  const costs: Cost[] = [];
  let running = 0;
  for (const replicas of [1, 2, 4]) {
    for (; running < replicas; running += 1) stack.use(await house.startReplica(settings));
    if (replicas === 1)
      for (const { name, path } of integrations) await house.register(house.receiver + path, name);
    // After a first delivery, each owner has its endpoints in memory, and their circuits are closed.
    await house.forget();
    await announce(2);
    await arrived(2 * integrations.length);
    await house.forget();
    await announce(events);
    const before = await hits();
    let counted = 0;
    const { tookMs, spent } = await measured(async () => {
      counted = (await arrived(deliveries * countedShare)) - before;
    }, house.processes());
    const perSecond = counted / (tookMs / 1_000);
    costs.push({ name: `${replicas} replicas`, spent, count: counted });
    rates.push(perSecond);
    const all = await arrived(deliveries);
    say(`  ${replicas} replicas: ${perSecond.toFixed(0)}/s, ${all} hits for ${deliveries} deliveries`);
  }
  const [one = 1, two = 1, four = 1] = rates;
  const compare = (name: string, ratio: number, atLeast: number): void =>
    say(
      reportLine(
        `throughput of ${name} replicas, against one`,
        ratio,
        'eight in flight each, receivers that take 50 ms',
        ['≥', atLeast],
      ),
    );
  compare('two', two / one, wanted.two);
  compare('four', four / one, wanted.four);
  for (const line of costTable(costs, { one: 'delivery', in: 'µs' })) say(line);
}
