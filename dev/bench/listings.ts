// Pages of listings of very different lengths: the last of a million should cost what the first of a thousand does.
import { randomBytes } from 'node:crypto';
import type { Stack } from '../stack/index.ts';
import { openClient, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, inLanes, reportLine, type Contender } from './measure.ts';

const limit = 50;
const turns = 40;
const lanes = 4;

export const sizesDefault = [1_000, 100_000, 1_000_000] as const;

export async function benchListings(
  stack: Stack,
  sizes: readonly number[],
  say: (line: string) => void,
): Promise<void> {
  await using clients = new AsyncDisposableStack();
  const contenders: Contender[] = [];
  for (const size of sizes) {
    const integration = `bench-${size}-${randomBytes(3).toString('hex')}`;
    const client = clients.use(openClient(stack.gateway, stack.token({ integration })));
    await fill(client, size, say);
    for (const [page, query] of await pagesOf(client, size)) {
      contenders.push({
        name: `${page} of ${size}`,
        prepare: () => () => client.get(`${suppliersPath}?${query}`),
      });
    }
  }
  const figures = await compare(contenders, { turns });
  const msOf = (name: string): number => figures.get(name)?.medianMs ?? Number.NaN;
  const [smallest = 0] = sizes;
  const base = Math.max(msOf(`first page of ${smallest}`), 0);
  for (const { name } of contenders) {
    const ratio = msOf(name) / base;
    const detail = `${msOf(name).toFixed(1)} ms against ${base.toFixed(1)} ms for the first page of ${smallest}`;
    say(reportLine(name, ratio, detail, '≤ 1.5', ratio <= 1.5));
  }
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

/** Queries for the first page, and for a middle and the last one by cursor. */
async function pagesOf(client: Client, size: number): Promise<[string, string][]> {
  const pages = size / limit;
  const after = async (page: number): Promise<string> => {
    const { headers } = await client.get(`${suppliersPath}?limit=${limit}&page=${page}`);
    const [, query] = /\?([^>]+)>; rel="next"/.exec(String(headers['link'])) ?? [];
    if (query === undefined) throw new Error(`page ${page} of ${pages} has no next`);
    return query;
  };
  return [
    ['first page', `limit=${limit}`],
    ['middle page by cursor', await after(pages / 2)],
    ['last page by cursor', await after(pages - 1)],
  ];
}
