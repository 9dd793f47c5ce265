// The burst of one integration, to one endpoint and to many, as fast as the stream takes its events; and how much it
// delays a neighbour, an integration whose events come one at a time.
import { setTimeout as wait } from 'node:timers/promises';
import { costTable, type Cost } from '../costs.ts';
import { beginMeasuring, spentBy } from '../cpu.ts';
import { quantile, reportLine } from '../measure.ts';
import type { Setting } from '../setting.ts';
import type { House } from './house.ts';

const deliveriesDefault = 100_000;
const endpointCounts = [1, 500];
const tickMs = 25;
const wantedMs = 1_000;
const watched = '/watched';

export async function benchBurst({ startHouse, options, say }: Setting): Promise<void> {
  const { deliveries = deliveriesDefault } = options;
  const house = await startHouse();
  await using _replica = await house.startReplica();
  const costs: Cost[] = [];
  await house.register(house.receiver + watched, 'neighbour');
  await house.announce(50, 1, 'neighbour');
  await house.arrived(watched, 50);
  for (const endpoints of endpointCounts) {
    const integration = `burst-${endpoints}`;
    const path = `/${integration}`;
    for (let n = 0; n < endpoints; n += 1) await house.register(house.receiver + path, integration);
    // A first delivery closes the circuits of the endpoints.
    await house.announce(1, 1, integration);
    await arrivedInAll(house, path, endpoints);
    await house.forget();

    const end = beginMeasuring(house.processes());
    const began = performance.now();
    let announcedMs = 0;
    const announcing = house.announce(deliveries / endpoints, 500, integration).then(() => {
      announcedMs = performance.now() - began;
    });
    const over = new AbortController();
    const working = announcing.then(() => arrivedInAll(house, path, deliveries)).finally(() => over.abort());
    const sent = await announceUntil(house, over.signal);
    await working;
    const tookMs = performance.now() - began;
    const spent = end();
    const usedMs = spentBy(spent, 'webhooks');
    costs.push({ name: `${endpoints} endpoints`, spent, count: deliveries });
    const lags = await lagsOf(house, sent);
    const p99 = quantile(lags, 0.99);
    say(
      `  ${endpoints} endpoints: ${deliveries} announced in ${(announcedMs / 1_000).toFixed(1)} s, delivered in ` +
        `${(tookMs / 1_000).toFixed(1)} s, ${((deliveries / tookMs) * 1_000).toFixed(0)}/s, ` +
        `${((deliveries / usedMs) * 1_000).toFixed(0)} per core-second`,
    );
    say(
      reportLine(
        `p99 of a neighbour beside a burst of ${deliveries} to ${endpoints} endpoints, in ms`,
        p99,
        `${sent} events: median ${quantile(lags, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, most ${quantile(lags, 1).toFixed(0)} ms`,
        ['≤', wantedMs],
      ),
    );
    await house.forget();
  }
  for (const line of costTable(costs, { one: 'delivery', in: 'µs' })) say(line);
}

/** Resolves when `count` deliveries have come to this path; an event counts once for each endpoint. */
async function arrivedInAll(house: House, path: string, count: number): Promise<void> {
  for (let tries = 0; tries < 4_000; tries += 1) {
    const hits = (await house.seen()).find((tally) => tally.path === path)?.hits ?? 0;
    if (hits >= count) return;
    await wait(100);
  }
  throw new Error(`fewer than ${count} deliveries came to ${path}`);
}

/** Announces events of the neighbour one after another until `over`; resolves with their number. */
async function announceUntil(house: House, over: AbortSignal): Promise<number> {
  let sent = 0;
  for (; !over.aborted; sent += 1) {
    await house.announce(1, 1, 'neighbour');
    await wait(tickMs);
  }
  return sent;
}

/** The times from announcement to arrival of the neighbour's events, the shortest first. */
async function lagsOf(house: House, sent: number): Promise<number[]> {
  await house.arrived(watched, sent);
  const lags = (await house.seen()).find((tally) => tally.path === watched)?.lagsMs ?? [];
  return lags.toSorted((one, other) => one - other);
}
