// 20,000 endpoints of 20 integrations, whose events come while the endpoints keep up, and while webhooks is down, so
// that all endpoints are behind: memory, deliveries a second, and the delays of a neighbour whose events come one at a
// time. The neighbour's delays count from its first delivery on, because the start of the replica is no part of them.
import { setTimeout as wait } from 'node:timers/promises';
import { residentMb } from '../../process/memory.ts';
import { inLanes, quantile, reportLine } from '../measure.ts';
import { announceUntil, arrivedInAll, lagsOf, type House } from './house.ts';

const integrations = Number(process.env['BENCH_MANY_INTEGRATIONS'] ?? 20);
const endpointsEach = 1_000;
const eventsEach = 4;
const deliveries = integrations * endpointsEach * eventsEach;
const lanes = 16;
const tickMs = 50;
const sampleMs = 200;
const path = '/many';
const watched = '/watched';
const wanted = { residentMb: 512, rate: 0.5, p99: 1.5 };

interface Felt {
  perSecond: number;
  mostMb: number;
  p99: number;
}

export async function benchMany(house: House, say: (line: string) => void): Promise<void> {
  const names = Array.from({ length: integrations }, (_, n) => `many-${n}`);
  let replica = await house.startReplica();
  await house.register(house.receiver + watched, 'neighbour');
  await inLanes(lanes, (integrations * endpointsEach) / lanes, (n) =>
    house.register(house.receiver + path, names[n % integrations]),
  );
  const announce = (): Promise<unknown> =>
    Promise.all(names.map((name) => house.announce(eventsEach, 1, name)));
  const felt = async (what: string, begin: () => Promise<unknown>): Promise<Felt> => {
    await house.forget();
    await begin();
    const one = await deliver(house, replica.pid);
    say(
      `  ${what}: ${one.perSecond.toFixed(0)}/s, webhooks at most ${one.mostMb.toFixed(0)} MB, ` +
        `a neighbour's p99 ${one.p99.toFixed(0)} ms`,
    );
    return one;
  };
  await felt('from open circuits', announce);
  const live = await felt('keeping up', announce);
  const behind = await felt('behind', async () => {
    await replica[Symbol.asyncDispose]();
    await announce();
    replica = await house.startReplica();
  });
  const mostMb = Math.max(live.mostMb, behind.mostMb);
  const compare = (name: string, value: number, bound: string, holds: boolean): void =>
    say(reportLine(name, value, `${integrations * endpointsEach} endpoints`, bound, holds));
  compare('resident, against 512 MB', mostMb / wanted.residentMb, 'at most 1', mostMb <= wanted.residentMb);
  const rate = behind.perSecond / live.perSecond;
  compare('catching up, against keeping up', rate, `at least ${wanted.rate}`, rate >= wanted.rate);
  const p99 = behind.p99 / live.p99;
  compare("a neighbour's p99, the same", p99, `at most ${wanted.p99}`, p99 <= wanted.p99);
}

async function deliver(house: House, pid: number): Promise<Felt> {
  const beganMs = performance.now();
  const over = new AbortController();
  let tookMs = 0;
  const arriving = arrivedInAll(house, path, deliveries).finally(() => {
    tookMs = performance.now() - beganMs;
    over.abort();
  });
  let mostMb = 0;
  const sampling = (async () => {
    for (; !over.signal.aborted; await wait(sampleMs)) mostMb = Math.max(mostMb, residentMb([pid]));
  })();
  await house.announce(1, 1, 'neighbour');
  await house.arrived(watched, 1);
  const sent = 1 + (await announceUntil(house, over.signal, tickMs));
  await Promise.all([arriving, sampling]);
  const p99 = quantile(await lagsOf(house, watched, sent), 0.99);
  return { perSecond: (deliveries / tookMs) * 1_000, mostMb, p99 };
}
