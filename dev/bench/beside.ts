// The first page of a listing, alone and while four pushes are in flight: of the service, and of a plain Fastify
// process that reads the same collection. The plain process shares only the processors and the database with the
// pushes, so its times show how much slower the machine itself gets.
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { openClient, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { inLanes, medianOf, quantile, reportLine } from './measure.ts';
import { settleMs } from './push.ts';
import { openPusher, type Pusher } from './pusher.ts';
import { startRival } from './rivals-start.ts';
import type { Setting } from './setting.ts';
import { tableOf } from './table.ts';

const records = 1_000;
const limit = 50;
const pushLanes = 4;
const pageLanes = 8;
const pagesInTurn = 60;
const pagesPerLane = 25;
/** The pages of a reader that asks for one every 50 ms. */
const calmPages = 40;
const calmEveryMs = 50;
const turnsDefault = 10;
const warmTurns = 2;
const ours = 'service';
const plain = 'Fastify, no total';
const wanted = { median: 3, p99: 5, rate: 0.5, pushes: 0.9, pushesBesidePlain: 1 };

/** The figures of one process, without pushes or beside them, in all turns. */
interface Seen {
  pageMs: number[];
  /** Pages per second on eight connections, for each turn. */
  rates: number[];
  /**
   * Pushes per second in each turn: beside a page every 50 ms, beside one page after the other, and beside eight at
   * once.
   */
  pushes: { calm: number[]; one: number[]; eight: number[] };
}

const nothingSeen = (): Seen => ({ pageMs: [], rates: [], pushes: { calm: [], one: [], eight: [] } });

export async function benchBeside({ stack, options, say }: Setting): Promise<void> {
  const { turns = turnsDefault } = options;
  await using ending = new AsyncDisposableStack();
  const integration = `listed-${randomBytes(4).toString('hex')}`;
  const token = stack.token({ integration });
  const listing = ending.use(openClient(stack.gateway, token));
  for (let from = 0; from < records; from += itemsPerPush) {
    await listing.post(suppliersPath, pushBody(makeItems(`L${from}`)));
  }
  const rival = await startRival(
    stack,
    {
      name: plain,
      programs: [[plain, 'listing.js']],
      environment: { RIVAL_TOTAL: 'none' },
      database: stack.database,
    },
    ending,
  );
  const callers = new Map<string, Client>([
    [ours, listing],
    [plain, ending.use(openClient(rival.url, token))],
  ]);
  const pushing = ending.use(
    await openPusher(stack.gateway, stack.token({ integration: 'pushing' }), pushLanes),
  );
  const alone = new Map(Array.from(callers.keys(), (name) => [name, nothingSeen()]));
  const beside = new Map(Array.from(callers.keys(), (name) => [name, nothingSeen()]));
  const pushesAlone: number[] = [];
  for (let turn = 0; turn < turns + warmTurns; turn += 1) {
    const isKept = turn >= warmTurns;
    for (const [name, caller] of callers) {
      await look(caller, isKept ? alone.get(name) : undefined);
      await settle();
    }
    await pushing.start();
    if (isKept) pushesAlone.push(await pushing.during(() => wait(3_000)));
    for (const [name, caller] of callers) await look(caller, isKept ? beside.get(name) : undefined, pushing);
    await pushing.stop();
    await settle();
  }
  report({ alone, beside, pushesAlone, turns, say });
}

const settle = (): Promise<void> => wait(settleMs);

async function look(caller: Client, seen: Seen | undefined, pushing?: Pusher): Promise<void> {
  const during = (work: () => Promise<unknown>): Promise<number> =>
    pushing === undefined ? work().then(() => 0) : pushing.during(work);
  const query = `${suppliersPath}?limit=${limit}`;
  const pageMs: number[] = [];
  const besideOne = await during(async () => {
    for (let page = 0; page < pagesInTurn; page += 1) {
      const began = performance.now();
      await caller.get(query);
      pageMs.push(performance.now() - began);
    }
  });
  const began = performance.now();
  const besideEight = await during(() => inLanes(pageLanes, pagesPerLane, () => caller.get(query)));
  const tookMs = performance.now() - began;
  // This reader is there to see whether it slows pushes, so it is left out without pushes.
  const besideCalm = await pushing?.during(async () => {
    for (let page = 0; page < calmPages; page += 1) await Promise.all([caller.get(query), wait(calmEveryMs)]);
  });
  seen?.pageMs.push(...pageMs);
  seen?.rates.push(((pageLanes * pagesPerLane) / tookMs) * 1_000);
  seen?.pushes.calm.push(besideCalm ?? 0);
  seen?.pushes.one.push(besideOne);
  seen?.pushes.eight.push(besideEight);
}

interface Findings {
  alone: ReadonlyMap<string, Seen>;
  beside: ReadonlyMap<string, Seen>;
  pushesAlone: readonly number[];
  turns: number;
  say: (line: string) => void;
}

function figures(all: ReadonlyMap<string, Seen>, name: string) {
  const { pageMs, rates, pushes } = all.get(name) ?? nothingSeen();
  const sorted = pageMs.toSorted((one, other) => one - other);
  return {
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    rate: medianOf(rates),
    pushes: { calm: medianOf(pushes.calm), one: medianOf(pushes.one), eight: medianOf(pushes.eight) },
  };
}

function report({ alone, beside, pushesAlone, turns, say }: Findings): void {
  const [before, now, other] = [figures(alone, ours), figures(beside, ours), figures(beside, plain)];
  const otherAlone = figures(alone, plain);
  const pushes = medianOf(pushesAlone);
  const line = (what: string, ratio: number, detail: string, most: string, holds: boolean): void =>
    say(reportLine(what, ratio, detail, most, holds));
  for (const [name, share, bound] of [
    ['p50', 'p50', wanted.median],
    ['p99', 'p99', wanted.p99],
  ] as const) {
    const ratio = now[share] / before[share];
    const detail = `${now[share].toFixed(1)} ms against ${before[share].toFixed(1)} ms`;
    line(`${name} of a page beside pushes, against alone`, ratio, detail, `≤ ${bound}`, ratio <= bound);
    const fair = now[share] / other[share];
    const fairDetail = `${now[share].toFixed(1)} ms against ${other[share].toFixed(1)} ms`;
    line(
      `${name} of a page beside pushes, against ${plain}, beside them`,
      fair,
      fairDetail,
      '≤ 2',
      fair <= 2,
    );
  }
  const kept = now.rate / before.rate;
  const rates = `${now.rate.toFixed(0)} against ${before.rate.toFixed(0)} pages/s`;
  line(
    'pages per second on 8 connections beside pushes',
    kept,
    rates,
    `≥ ${wanted.rate}`,
    kept >= wanted.rate,
  );
  for (const [what, meanwhile, against, least] of [
    ['one page at a time', now.pushes.one, pushes, wanted.pushes],
    [`a page every ${calmEveryMs} ms`, now.pushes.calm, pushes, wanted.pushes],
    [
      `one page at a time, against those beside ${plain}`,
      now.pushes.one,
      other.pushes.one,
      wanted.pushesBesidePlain,
    ],
  ] as const) {
    const left = meanwhile / against;
    const perSecond = `${meanwhile.toFixed(1)} against ${against.toFixed(1)} pushes/s`;
    line(`pushes beside ${what}`, left, perSecond, `≥ ${least}`, left >= least);
  }
  const rows = [
    ['alone', ours, before],
    ['alone', plain, otherAlone],
    ['beside pushes', ours, now],
    ['beside pushes', plain, other],
  ] as const;
  say(`\n  first page of ${records}, medians of ${turns} turns, ${pushes.toFixed(1)} pushes/s without pages`);
  const table = rows.map(([state, name, { p50, p99, rate, pushes: meanwhile }]) => [
    `${name}, ${state}`,
    p50.toFixed(1),
    p99.toFixed(1),
    rate.toFixed(0),
    meanwhile.calm.toFixed(1),
    meanwhile.one.toFixed(1),
    meanwhile.eight.toFixed(1),
  ]);
  const head = ['', 'p50 ms', 'p99 ms', 'pages/s on 8', 'pushes/s by few', 'pushes/s by 1', 'pushes/s by 8'];
  for (const row of tableOf(head, table)) say(`  ${row}`);
}
