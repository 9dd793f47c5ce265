// One, two and four replicas, each with few deliveries in flight at once, at receivers that take 50 ms: so what bounds
// a replica is its own bound and not this machine's processors, and throughput must grow with the replicas. Each
// event arrives once.
import { costTables, type Cost } from '../costs.ts';
import { measured, reportLine } from '../measure.ts';
import type { House } from './house.ts';

const endpoints = 64;
const events = 20;
const settings = { WEBHOOK_IN_FLIGHT_MAX: '8' };

export async function benchReplicas(house: House, say: (line: string) => void): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const paths = Array.from({ length: endpoints }, (_, n) => `/lag-${n}`);
  const rates: number[] = [];
  const costs: Cost[] = [];
  let running = 0;
  for (const replicas of [1, 2, 4]) {
    for (; running < replicas; running += 1) stack.use(await house.startReplica(settings));
    if (replicas === 1) for (const path of paths) await house.register(house.receiver + path);
    await house.announce(2);
    await Promise.all(paths.map((path) => house.arrived(path, 2)));
    await house.forget();
    const { tookMs, spent } = await measured(async () => {
      // One by one, so that they are many parcels.
      await house.announce(events, 1);
      await Promise.all(paths.map((path) => house.arrived(path, events)));
    }, house.processes());
    const perSecond = (endpoints * events) / (tookMs / 1_000);
    costs.push({ name: `${replicas} replicas`, spent, count: endpoints * events });
    const hits = (await house.seen()).reduce((sum, tally) => sum + tally.hits, 0);
    rates.push(perSecond);
    say(
      `  ${replicas} replicas: ${perSecond.toFixed(0)}/s, ${hits} hits for ${endpoints * events} deliveries`,
    );
    await house.forget();
  }
  const [one = 1, two = 1, four = 1] = rates;
  const detail = 'eight in flight each, receivers that take 50 ms';
  say(reportLine('throughput of two replicas, against one', two / one, detail, 'over 1.5', two / one > 1.5));
  say(reportLine('throughput of four replicas, against one', four / one, detail, 'over 2', four / one > 2));
  for (const line of costTables(costs, { one: 'delivery', in: 'µs' })) say(line);
}
