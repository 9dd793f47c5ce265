// Pages of listings of very different lengths: each page of each walk through a million records should cost what the first page of
// a thousand costs, one record by its id no more than a page, and an export as much per page at its end as at its beginning.
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { basePath } from '@integration-sync/contracts';
import { residentMb } from '../process/memory.ts';
import type { Stack } from '../stack/index.ts';
import { openClient, type Answer, type Client } from './client.ts';
import { costTable } from './costs.ts';
import { beginMeasuring, caller, spentWhere } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, figuresOf, inLanes, quantile, reportLine, type Contender } from './measure.ts';
import { processesOf } from './processes.ts';
import type { Setting } from './setting.ts';

const limit = 50;
const turnsDefault = 40;
const lanes = 4;
const countsMatches = /(since|DRAFT).*, first page of/i;
/** How long to wait after a push: its events are then stored and read, so that only the page is measured. */
const afterPushMs = 300;

export async function benchListings({ startStack, options, say }: Setting): Promise<void> {
  const { sizes, turns = turnsDefault } = options;
  const stack = await startStack();
  await using clients = new AsyncDisposableStack();
  const contenders: Contender[] = [];
  let largest: Client | undefined;
  for (const size of sizes) {
    const integration = `bench-${size}-${randomBytes(3).toString('hex')}`;
    const client = clients.use(openClient(stack.gateway, stack.token({ integration })));
    largest = client;
    const listings = [await fillRecords(client, size, say), ...(await fillBatches(client, size, say))];
    for (const listing of listings)
      for (const page of await pagesOf(client, listing))
        contenders.push({ ...page, name: `${page.name} of ${size}` });
  }
  const figures = await compare(contenders, { turns, processes: () => processesOf(stack) });
  const costOf = (name: string): number => {
    const spent = figures.get(name)?.spent;
    if (spent === undefined) return Number.NaN;
    return spentWhere(spent, (one) => one !== caller) / turns;
  };
  const [smallest = 0] = sizes;
  const base = `suppliers, first page of ${smallest}`;
  for (const { name } of contenders) {
    const ratio = costOf(name) / costOf(base);
    const { medianMs = Number.NaN, ms = [] } = figures.get(name) ?? {};
    const detail =
      `${costOf(name).toFixed(1)} ms of processor time against ${costOf(base).toFixed(1)}; ` +
      `p50 ${medianMs.toFixed(1)} ms, p99 ${quantile(ms, 0.99).toFixed(1)} ms`;
    // The first page of a filtered listing also counts the matches, so it has a limit of its own.
    if (countsMatches.test(name)) say(reportLine(`${name}, in ms`, costOf(name), detail, ['≤', 150]));
    else say(reportLine(name, ratio, detail, ['≤', 1.5]));
  }
  if (largest !== undefined) await exportAll(stack, largest, say);
}

/** How many pages at the beginning of an export are compared with as many at its end. */
const endPages = 200;

async function exportAll(stack: Stack, client: Client, say: (line: string) => void): Promise<void> {
  const memoryMb = (): number =>
    residentMb(['gateway', 'catalog'].flatMap((name) => stack.pids()[name] ?? []));
  const pageMs: number[] = [];
  const beforeMb = memoryMb();
  let highestMb = beforeMb;
  const end = beginMeasuring(processesOf(stack));
  for (let query: string | undefined = 'limit=100&details=true'; query !== undefined;) {
    const began = performance.now();
    const { headers }: Answer = await client.get(`${suppliersPath}?${query}`);
    pageMs.push(performance.now() - began);
    [, query] = nextQuery.exec(String(headers['link'])) ?? [];
    if (pageMs.length % 500 === 0) highestMb = Math.max(highestMb, memoryMb());
  }
  const spent = end();
  const first = figuresOf(pageMs.slice(0, endPages)).medianMs;
  const last = figuresOf(pageMs.slice(-endPages)).medianMs;
  const seconds = pageMs.reduce((sum, ms) => sum + ms, 0) / 1_000;
  say(
    reportLine(
      'export with details',
      last / first,
      `${pageMs.length} pages in ${seconds.toFixed(0)} s, ${last.toFixed(1)} ms a page at the end against ` +
        `${first.toFixed(1)} ms at the beginning; gateway and catalog hold ${highestMb.toFixed(0)} MB at most, ` +
        `${beforeMb.toFixed(0)} MB before`,
      ['≤', 1.5],
    ),
  );
  for (const line of costTable([{ name: 'export', spent, count: pageMs.length }], { one: 'page' })) say(line);
}

interface Filled {
  path: string;
  /** Each walk through the listing: its name, its filter, and how many entities match. */
  walks: readonly (readonly [name: string, query: string, count: number])[];
  /** One entity by its id. */
  one: string;
  /** Pushes a change of one record, so that a replica has to count the matching records again. */
  touch: () => Promise<unknown>;
}

async function fillRecords(client: Client, size: number, say: (line: string) => void): Promise<Filled> {
  const pushes = Math.ceil(size / itemsPerPush);
  const push = (nth: number, count?: number) =>
    client.post(suppliersPath, pushBody(makeItems(`S${nth}`, count)));
  const now = async (): Promise<string> => {
    const { headers } = await client.get(`${suppliersPath}?limit=1`);
    return encodeURIComponent(String(headers['x-next-since']));
  };
  const began = performance.now();
  const [half, few] = [Math.floor(pushes / 2), Math.max(0, pushes - Math.ceil(pushes / 100))];
  const atStart = await now();
  await pushAll(0, half, push);
  const atHalf = await now();
  await pushAll(half, few, push);
  const nearEnd = await now();
  await pushAll(few, pushes, push);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  say(`  ${size.toLocaleString('en')} records pushed in ${seconds} s`);
  const ranges = [
    ['all', atStart, size],
    ['half', atHalf, size - half * itemsPerPush],
    ['few', nearEnd, size - few * itemsPerPush],
  ] as const;
  return {
    path: suppliersPath,
    walks: [['', '', size], ['details, ', 'details=true', size], ...ranges.flatMap(sinceThen)],
    one: `externalId=S${half}-7&details=true`,
    touch: () => push(pushes - 1, 1),
  };
}

const sinceThen = ([name, time, count]: readonly [string, string, number]) =>
  ['since', 'changedSince'].map((by) => [`${by} ${name}, `, `${by}=${time}`, count] as const);

/** Pushes batches with one statement each, half of them with a reference number; returns both listings. */
async function fillBatches(client: Client, size: number, say: (line: string) => void): Promise<Filled[]> {
  const pushes = Math.ceil(Math.min(size, statementsMax) / itemsPerPush);
  await client.post(`${basePath}/products`, bodyOf({ products: [{ externalId: 'P', name: 'P' }] }));
  const push = (nth: number, count = itemsPerPush) => {
    const batches = Array.from({ length: count }, (_, index) => ({
      externalId: `B${nth}-${index}`,
      productExternalId: 'P',
      batchNumber: `LOT ${nth}-${index}`,
      ddsReferenceNumber: index % 2 === 0 ? `R${nth}-${index}` : null,
    }));
    return client.post(`${basePath}/batches`, bodyOf({ batches, autoCreateDDS: true }));
  };
  await pushAll(0, pushes, push);
  const count = pushes * itemsPerPush;
  say(`  ${count.toLocaleString('en')} batches with statements pushed`);
  const touch = () => push(pushes - 1, 1);
  const all = ['', '', count] as const;
  return [
    { path: `${basePath}/batches`, walks: [all], one: 'externalId=B0-7', touch },
    {
      path: `${basePath}/dds`,
      walks: [all, ['DRAFT, ', 'status=DRAFT', count / 2]],
      one: 'batchExternalId=B0-7',
      touch,
    },
  ];
}

const statementsMax = 165_000;
const bodyOf = (body: object): Buffer => Buffer.from(JSON.stringify(body));

/** Makes the pushes with the numbers from `from` to `to`, several concurrently. */
async function pushAll(from: number, to: number, push: (nth: number) => Promise<unknown>): Promise<void> {
  await inLanes(lanes, Math.ceil((to - from) / lanes), async (index) => {
    if (from + index < to) await push(from + index);
  });
}

const nextQuery = /\?([^>]+)>; rel="next"/;

/** The first, a middle and the last page of each walk by cursor, a middle page after its predecessor by number, and one entity. */
async function pagesOf(client: Client, { path, walks, one, touch }: Filled): Promise<Contender[]> {
  const kind = path.slice(basePath.length + 1);
  const get = (query: string): Promise<Answer> => client.get(`${path}?${query}`);
  const pages: Contender[] = [{ name: `${kind}, one by its id`, prepare: () => () => get(one) }];
  for (const [name, filter, count] of walks) {
    const query = `limit=${limit}${filter === '' ? '' : `&${filter}`}`;
    const last = Math.ceil(count / limit);
    const middle = Math.ceil(last / 2);
    const isNumbered = filter !== 'details=true';
    pages.push({
      name: `${kind}, ${name}first page`,
      async prepare() {
        await touch();
        await wait(afterPushMs);
        return () => get(query);
      },
    });
    if (filter !== '')
      pages.push({ name: `${kind}, ${name}first page again`, prepare: () => () => get(query) });
    if (!isNumbered) continue;
    for (const [where, page] of [
      ['middle', middle],
      ['last', last],
    ] as const) {
      if (page < 2) continue;
      const { headers } = await get(`${query}&page=${page - 1}`);
      const [, next] = nextQuery.exec(String(headers['link'])) ?? [];
      if (next === undefined) throw new Error(`page ${page - 1} of ${last} has no link to the next page`);
      pages.push({ name: `${kind}, ${name}${where} page by cursor`, prepare: () => () => get(next) });
    }
    if (middle < 2) continue;
    pages.push({
      name: `${kind}, ${name}middle page by number, after the page before`,
      async prepare() {
        await get(`${query}&page=${middle - 1}`);
        return () => get(`${query}&page=${middle}`);
      },
    });
  }
  return pages;
}
