// Compares this checkout with another one, such as that of the commit before, in turns. Each has its own services,
// database and nats-server, and gets the same requests. Each turn is compared with the other checkout's turn beside it,
// because other work of the machine slows both alike.
import { join, resolve } from 'node:path';
import type { Stack } from '../stack/index.ts';
import { openClient, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { inLanes, measured } from './measure.ts';
import { processesOf } from './processes.ts';
import { freshName, settleMs } from './push.ts';
import type { Setting } from './setting.ts';
import { reportOfTurns, type Load, type Results, type Turn } from './turns-report.ts';

const turnsDefault = 11;
/** Pushes before the measurement, in which V8 compiles what runs often. */
const warmDefault = 600;
const warmedAtOnce = 40;

interface PushLoad extends Load {
  items: number;
  /** Whether the pushed records exist already. */
  known: boolean;
}
interface PageLoad extends Load {
  query: string;
}

const push = { one: 'push', several: 'pushes' };
const page = { one: 'page', several: 'pages', what: 'first pages of a listing', query: 'limit=50' };
const large = { ...push, items: itemsPerPush, requests: 40 };
const warming: PushLoad = { ...large, what: 'warming', lanes: 4, known: false };
const loads: readonly (PushLoad | PageLoad)[] = [
  { ...large, what: `pushes of ${itemsPerPush} new suppliers`, lanes: 1, known: false },
  { ...large, what: `pushes of ${itemsPerPush} new suppliers`, lanes: 4, known: false },
  { ...large, what: `pushes of ${itemsPerPush} known suppliers`, lanes: 1, known: true },
  { ...large, what: `pushes of ${itemsPerPush} known suppliers`, lanes: 4, known: true },
  { ...push, what: 'pushes of one new supplier', items: 1, requests: 200, lanes: 1, known: false },
  { ...page, requests: 400, lanes: 1 },
  { ...page, requests: 768, lanes: 32 },
];

interface Side {
  stack: Stack;
  client: Client;
  /** Bodies of pushes whose records exist. */
  known: readonly Buffer[];
}

export async function benchTurns({ startStack, options, say }: Setting): Promise<void> {
  const { turns, warm = warmDefault, beside } = options;
  const stack = await startStack();
  const other = await startStack(programsOf(beside));
  using client = openClient(stack.gateway, stack.token({ integration: 'bench' }));
  using otherClient = openClient(other.gateway, other.token({ integration: 'bench' }));
  const known = Array.from({ length: large.requests }, () => pushBody(makeItems(freshName())));
  const ours: Side = { stack, client, known };
  const theirs: Side = { stack: other, client: otherClient, known };
  for (const side of [ours, theirs]) {
    for (const body of known) await side.client.post(suppliersPath, body);
    for (let pushed = 0; pushed < warm; pushed += warmedAtOnce) await prepare(side, warming)(() => undefined);
  }
  for (const load of loads) {
    const results = await measureInTurns({ ours, theirs, turns }, (side) => prepare(side, load));
    for (const line of reportOfTurns(load, results)) say(line);
  }
}

/** The programs of another checkout. */
export const programsOf = (folder = ''): { mainOf: (service: string) => string } => ({
  mainOf: (service) => join(resolve(folder), 'services', service, 'src/main.ts'),
});

/**
 * The first turn warms up. The checkouts take turns to go first, because each leaves unfinished work, which slows the next.
 * `workOf` returns the function that is measured.
 */
export async function measureInTurns<One extends { stack: Stack }>(
  { ours, theirs, turns = turnsDefault }: { ours: One; theirs: One; turns: number | undefined },
  workOf: (side: One) => (note: Noting) => Promise<void>,
): Promise<Results> {
  const results: Results = { ours: [], theirs: [] };
  for (let turn = 0; turn <= turns; turn += 1) {
    const oursFirst = turn % 2 === 0;
    if (!oursFirst) await takeTurn(theirs.stack, workOf(theirs), turn > 0 ? results.theirs : []);
    await takeTurn(ours.stack, workOf(ours), turn > 0 ? results.ours : []);
    if (oursFirst) await takeTurn(theirs.stack, workOf(theirs), turn > 0 ? results.theirs : []);
  }
  return results;
}

type Noting = (requestMs: number) => void;

function prepare(side: Side, load: PushLoad | PageLoad): (note: Noting) => Promise<void> {
  const ask = 'query' in load ? pagesOf(side, load) : pushesOf(side, load);
  return (note) =>
    inLanes(load.lanes, load.requests / load.lanes, async (index) => {
      const began = performance.now();
      await ask(index);
      note(performance.now() - began);
    });
}

type Ask = (index: number) => Promise<unknown>;

function pushesOf({ client, known }: Side, load: PushLoad): Ask {
  const bodies = load.known
    ? known
    : Array.from({ length: load.requests }, () => pushBody(makeItems(freshName(), load.items)));
  return (index) => client.post(suppliersPath, bodies[index] ?? Buffer.alloc(0));
}

const pagesOf =
  ({ client }: Side, { query }: PageLoad): Ask =>
  () =>
    client.get(`${suppliersPath}?${query}`);

async function takeTurn(stack: Stack, work: (note: Noting) => Promise<void>, into: Turn[]): Promise<void> {
  const requestMs: number[] = [];
  const run = () => work((ms) => void requestMs.push(ms));
  const { tookMs, spent } = await measured(run, processesOf(stack), settleMs);
  into.push({ tookMs, requestMs, spent });
}
