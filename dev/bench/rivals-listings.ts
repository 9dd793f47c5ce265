// The first page of a listing on 32 connections, beside a plain Fastify process that reads the same collection, with
// token, validation and a counted total, as is usual.
import { randomBytes } from 'node:crypto';
import type { Stack } from '../stack/index.ts';
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
const fastify = 'Fastify';
const query = `${suppliersPath}?limit=${limit}`;

export async function benchRivalListings(stack: Stack, { options, say }: Setting): Promise<void> {
  const { turns = turnsDefault, warm = warmDefault } = options;
  await using ending = new AsyncDisposableStack();
  const integration = `listed-${randomBytes(4).toString('hex')}`;
  const token = stack.token({ integration });
  const client = ending.use(openClient(stack.gateway, token));
  for (let from = 0; from < records; from += itemsPerPush)
    await client.post(suppliersPath, pushBody(makeItems(`L${from}`)));
  const program = { name: fastify, programs: [[fastify, 'listing.js']], database: stack.database } as const;
  const rival = await startRival(stack, program, ending);
  const callers = new Map<string, Client>([
    [ours, client],
    [fastify, ending.use(openClient(rival.url, token))],
  ]);
  await provePages(callers);
  const contenders = Array.from(callers, ([name, caller]): Contender => ({
    name,
    prepare: () => () => inLanes(connections, pagesPerLane, () => caller.get(query)),
  }));
  const compared = await compare(contenders, {
    turns,
    warmUp: Math.ceil(warm / pages),
    processes: () => ({ ...processesOf(stack), ...rival.processes }),
  });
  const report = reportOfRivals(compared, {
    ours,
    what: `first page of ${records} with total, ${connections} connections`,
    one: 'page',
    several: 'pages',
    count: pages,
    turns,
    digits: 0,
    wanted: { [fastify]: 0.8 },
    own: (name) => (name === ours ? ofService : [fastify, ...ofBareScript]),
  });
  for (const line of report) say(line);
}

/** Throws unless all contenders show the same page of all records: only then is the comparison fair. */
async function provePages(callers: ReadonlyMap<string, Client>): Promise<void> {
  const pagesShown = await Promise.all(
    Array.from(callers.values(), async (caller) => {
      const { entities, total } = JSON.parse((await caller.get(query)).body);
      if (entities.length !== limit || total !== records)
        throw new Error(`a page has ${entities.length} records of ${total}`);
      return JSON.stringify(entities);
    }),
  );
  if (new Set(pagesShown).size > 1) throw new Error('the contenders show different pages');
}
