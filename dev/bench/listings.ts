// Pages of listings of very different lengths: the last page of a million records should take as long as the first of a
// thousand, one record by its id no longer than a page, and an export as long per page at its end as at its beginning.
import { randomBytes } from 'node:crypto';
import { residentMb } from '../process/memory.ts';
import type { Stack } from '../stack/index.ts';
import { openClient, type Answer, type Client } from './client.ts';
import { costTables } from './costs.ts';
import { beginMeasuring } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, figuresOf, inLanes, reportLine, type Contender } from './measure.ts';
import { processesOf } from './processes.ts';
import type { Setting } from './setting.ts';

const limit = 50;
const turnsDefault = 40;
const lanes = 4;

export async function benchListings({ stack, options, say }: Setting): Promise<void> {
  const { sizes, turns = turnsDefault } = options;
  await using clients = new AsyncDisposableStack();
  const contenders: Contender[] = [];
  let largest: Client | undefined;
  for (const size of sizes) {
    const integration = `bench-${size}-${randomBytes(3).toString('hex')}`;
    const client = clients.use(openClient(stack.gateway, stack.token({ integration })));
    largest = client;
    await fill(client, size, say);
    for (const [page, query] of await pagesOf(client, size)) {
      contenders.push({
        name: `${page} of ${size}`,
        prepare: () => () => client.get(`${suppliersPath}?${query}`),
      });
    }
  }
  const figures = await compare(contenders, { turns, processes: () => processesOf(stack) });
  const msOf = (name: string): number => figures.get(name)?.medianMs ?? Number.NaN;
  const [smallest = 0] = sizes;
  const base = Math.max(msOf(`first page of ${smallest}`), 0);
  for (const { name } of contenders) {
    const ratio = msOf(name) / base;
    const detail = `${msOf(name).toFixed(1)} ms against ${base.toFixed(1)} ms for the first page of ${smallest}`;
    say(reportLine(name, ratio, detail, '≤ 1.5', ratio <= 1.5));
  }
  const costs = Array.from(figures, ([name, { spent }]) => ({ name, spent, count: turns }));
  for (const line of costTables(costs, { one: 'page' })) say(line);
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
      '≤ 1.5',
      last / first <= 1.5,
    ),
  );
  for (const line of costTables([{ name: 'export', spent, count: pageMs.length }], { one: 'page' }))
    say(line);
}

async function fill(client: Client, size: number, say: (line: string) => void): Promise<void> {
  const pushes = size / itemsPerPush;
  const began = performance.now();
  let done = 0;
  await inLanes(lanes, pushes / lanes < 1 ? 1 : pushes / lanes, async (index) => {
    if (index >= pushes) return;
    await client.post(suppliersPath, pushBody(makeItems(`S${index}`)));
    done += 1;
    if (done % 200 === 0) say(`  ${(done * itemsPerPush).toLocaleString('en')} records pushed`);
  });
  say(
    `  ${size.toLocaleString('en')} records pushed in ${((performance.now() - began) / 1_000).toFixed(0)} s`,
  );
}

const nextQuery = /\?([^>]+)>; rel="next"/;

/** Queries for one record in the middle, for the first page, and by cursor for a middle page and the last one. */
async function pagesOf(client: Client, size: number): Promise<[string, string][]> {
  const pages = size / limit;
  const after = async (page: number): Promise<string> => {
    const { headers } = await client.get(`${suppliersPath}?limit=${limit}&page=${page}`);
    const [, query] = nextQuery.exec(String(headers['link'])) ?? [];
    if (query === undefined) throw new Error(`page ${page} of ${pages} has no next`);
    return query;
  };
  const middle = `S${Math.floor(size / itemsPerPush / 2)}-7`;
  return [
    ['one record by its id', `externalId=${middle}&details=true`],
    ['first page', `limit=${limit}`],
    ['middle page by cursor', await after(pages / 2)],
    ['last page by cursor', await after(pages - 1)],
  ];
}
