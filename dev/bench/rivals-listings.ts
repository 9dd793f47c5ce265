// The first page of a listing on 32 connections, beside a plain Fastify process that reads the same collection, with
// token and validation: once with a counted total, which is usual, and once without a total.
import { randomBytes } from 'node:crypto';
import { openClient, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, inLanes, type Contender } from './measure.ts';
import { ofBareScript, ofService, processesOf } from './processes.ts';
import { reportOfRivals } from './rivals-report.ts';
import { startRival } from './rivals-start.ts';
import type { Setting } from './setting.ts';

const records = 1_000;
const limit = 50;
const connections = 32;
const pagesPerLane = 12;
const pages = connections * pagesPerLane;
const turnsDefault = 9;
/** Pages before the measurement, in which V8 compiles what runs often. */
const warmDefault = 2_000;
const ours = 'service';
const wanted: Readonly<Record<string, number>> = { 'Fastify, total counted': 0.8 };

const plain = [
  ['Fastify, total counted', 'count'],
  ['Fastify, no total', 'none'],
] as const;

export async function benchRivalListings({ stack, options, say }: Setting): Promise<void> {
  const { turns = turnsDefault, warm = warmDefault } = options;
  await using ending = new AsyncDisposableStack();
  const integration = `listed-${randomBytes(4).toString('hex')}`;
  const token = stack.token({ integration });
  const client = ending.use(openClient(stack.gateway, token));
  for (let from = 0; from < records; from += itemsPerPush) {
    await client.post(suppliersPath, pushBody(makeItems(`L${from}`)));
  }
  const callers = new Map<string, Client>([[ours, client]]);
  const processes: Record<string, readonly number[]> = {};
  for (const [name, total] of plain) {
    const rival = await startRival(
      stack,
      {
        name,
        programs: [[name, 'listing.js']],
        environment: { RIVAL_TOTAL: total },
        database: stack.database,
      },
      ending,
    );
    const caller = ending.use(openClient(rival.url, token));
    callers.set(name, caller);
    Object.assign(processes, rival.processes);
  }
  const query = `${suppliersPath}?limit=${limit}`;
  await provePages(callers, query);
  const refused = new Map<string, number>();
  const contenders = Array.from(callers, ([name, caller]): Contender => ({
    name,
    prepare: () => () =>
      inLanes(connections, pagesPerLane, async () => {
        const times = await askPatiently(caller, query);
        if (times > 0) refused.set(name, (refused.get(name) ?? 0) + times);
      }),
  }));
  const compared = await compare(contenders, {
    turns,
    warmUp: Math.ceil(warm / pages),
    processes: () => ({ ...processesOf(stack), ...processes }),
  });
  const report = reportOfRivals(compared, {
    ours,
    what: `first page of ${records}, ${connections} connections`,
    one: 'page',
    several: 'pages',
    count: pages,
    turns,
    digits: 0,
    wanted,
    own: (name) => (name === ours ? ofService : [name, ...ofBareScript]),
  });
  for (const line of report) say(line);
  for (const [name, count] of refused) say(`${name} answered ${count} times with 503, and was asked again`);
}

/** Asks again after a 503 (busy), which costs time and is no page; resolves with the number of refusals. */
async function askPatiently(caller: Client, query: string): Promise<number> {
  for (let refused = 0; ; refused += 1) {
    try {
      await caller.get(query);
      return refused;
    } catch (error) {
      if (!(error instanceof Error && error.message.includes(': 503 '))) throw error;
    }
  }
}

/** Throws unless all contenders show the same entities: only then is the comparison fair. */
async function provePages(callers: ReadonlyMap<string, Client>, query: string): Promise<void> {
  const answers = await Promise.all(
    Array.from(callers, async ([name, caller]) => {
      const { entities, total } = JSON.parse((await caller.get(query)).body);
      return { name, entities: JSON.stringify(entities), count: entities.length, total };
    }),
  );
  const [first] = answers;
  for (const { name, entities, count, total } of answers) {
    if (count !== limit || entities !== first?.entities)
      throw new Error(`${name} shows another page than ${first?.name}`);
    if (name !== plain[1][0] && total !== records)
      throw new Error(`${name} counts ${total} records instead of ${records}`);
  }
}
