// One, two and four replicas at receivers that take 20 ms: what bounds one replica then is how many deliveries an
// endpoint may have in flight there, so throughput grows with the replicas. Each event arrives once.
import { reportLine } from '../measure.ts';
import type { House } from './house.ts';

const endpoints = 8;
const events = 400;

export async function benchReplicas(house: House, say: (line: string) => void): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const paths = Array.from({ length: endpoints }, (_, n) => `/lag-${n}`);
  const rates: number[] = [];
  let running = 0;
  for (const replicas of [1, 2, 4]) {
    for (; running < replicas; running += 1) stack.use(await house.startReplica());
    if (replicas === 1) for (const path of paths) await house.register(house.receiver + path);
    await house.announce(20);
    await Promise.all(paths.map((path) => house.arrived(path, 20)));
    await house.forget();
    const began = performance.now();
    await house.announce(events);
    await Promise.all(paths.map((path) => house.arrived(path, events)));
    const perSecond = (endpoints * events) / ((performance.now() - began) / 1_000);
    const hits = (await house.seen()).reduce((sum, tally) => sum + tally.hits, 0);
    rates.push(perSecond);
    say(
      `  ${replicas} replicas: ${perSecond.toFixed(0)}/s, ${hits} hits for ${endpoints * events} deliveries`,
    );
    await house.forget();
  }
  const [one = 1, two = 1, four = 1] = rates;
  say(
    reportLine(
      'throughput of two replicas, against one',
      two / one,
      'receivers that take 20 ms',
      'over 1',
      two > one,
    ),
  );
  say(
    reportLine(
      'throughput of four replicas, against one',
      four / one,
      'receivers that take 20 ms',
      'over 1',
      four > one,
    ),
  );
}
