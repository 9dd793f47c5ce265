// The burst of one integration, to one endpoint and to many, as fast as the stream takes its events; and how much it
// delays a neighbour, an integration whose events come one at a time.
import { costTables, type Cost } from '../costs.ts';
import { beginMeasuring, spentBy } from '../cpu.ts';
import { quantile, reportLine } from '../measure.ts';
import { announceUntil, arrivedInAll, lagsOf, type House } from './house.ts';

const deliveries = Number(process.env['BENCH_BURST'] ?? 100_000);
const endpointCounts = (process.env['BENCH_BURST_ENDPOINTS'] ?? '1,500').split(',').map(Number);
const tickMs = 25;
const wantedMs = 1_000;
const watched = '/watched';

export async function benchBurst(house: House, say: (line: string) => void): Promise<void> {
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
    const sent = await announceUntil(house, over.signal, tickMs);
    await working;
    const tookMs = performance.now() - began;
    const spent = end();
    const usedMs = spentBy(spent, 'webhooks');
    costs.push({ name: `${endpoints} endpoints`, spent, count: deliveries });
    const lags = await lagsOf(house, watched, sent);
    const p99 = quantile(lags, 0.99);
    say(
      `  ${endpoints} endpoints: ${deliveries} announced in ${(announcedMs / 1_000).toFixed(1)} s, delivered in ` +
        `${(tookMs / 1_000).toFixed(1)} s, ${((deliveries / tookMs) * 1_000).toFixed(0)}/s, ` +
        `${((deliveries / usedMs) * 1_000).toFixed(0)} per core-second`,
    );
    say(
      reportLine(
        `p99 of a neighbour beside a burst of ${deliveries} to ${endpoints} endpoints, against ${wantedMs} ms`,
        p99 / wantedMs,
        `${sent} events: median ${quantile(lags, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, most ${quantile(lags, 1).toFixed(0)} ms`,
        'at most 1',
        p99 <= wantedMs,
      ),
    );
    await house.forget();
  }
  for (const line of costTables(costs, { one: 'delivery', in: 'µs' })) say(line);
}
