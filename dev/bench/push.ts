// The rate of pushes through the whole service, against bare scripts on the same database.
import { randomBytes } from 'node:crypto';
import { openBare, type Bare } from './bare.ts';
import { openClient, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, inLanes, type Contender } from './measure.ts';
import { ofBareScript, ofService, processesOf } from './processes.ts';
import { reportOfRates } from './rates.ts';
import type { Setting } from './setting.ts';

const turnsDefault = 15;
const pushesPerLane = 3;
/** The wanted rate of pushes of new suppliers, as a share of the rate of bare `insertMany`, which announces nothing. */
const wanted = { insertMany: 0.85 };
/** This long after a push, catalog has published and noted its events, and webhooks has read them. */
export const settleMs = 400;

export const freshName = (): string => randomBytes(6).toString('hex');

export async function benchPushes({ startStack, options, say }: Setting): Promise<void> {
  const stack = await startStack();
  using client = openClient(stack.gateway, stack.token({ integration: 'bench' }));
  await using bare = await openBare(stack);
  for (const lanes of [1, 4]) {
    const contenders = await contendersOf(client, bare, lanes);
    const turns = options.turns ?? turnsDefault;
    const compared = await compare(contenders, { turns, processes: () => processesOf(stack), settleMs });
    const report = reportOfRates(compared, {
      what: `pushes of ${itemsPerPush}, ${lanes} in flight`,
      one: 'push',
      count: lanes * pushesPerLane,
      turns,
      ours: ['new', 'unchanged'],
      wanted,
      own: (name) => (name === 'new' || name === 'unchanged' ? ofService : ofBareScript),
    });
    for (const line of report) say(line);
  }
}

async function contendersOf(client: Client, bare: Bare, lanes: number): Promise<Contender[]> {
  const pushes = lanes * pushesPerLane;
  const fresh = () => Array.from({ length: pushes }, () => makeItems(freshName()));
  const known = Array.from({ length: pushes }, () => pushBody(makeItems(freshName())));
  for (const body of known) await client.post(suppliersPath, body);
  const each = (run: (index: number) => Promise<unknown>) => () => inLanes(lanes, pushesPerLane, run);
  return [
    {
      name: 'new',
      prepare() {
        const bodies = fresh().map((items) => pushBody(items));
        return each((index) => client.post(suppliersPath, bodies[index] ?? Buffer.alloc(0)));
      },
    },
    {
      name: 'unchanged',
      prepare: () => each((index) => client.post(suppliersPath, known[index] ?? Buffer.alloc(0))),
    },
    ...bareWays.map(([way, name]): Contender => ({
      name,
      prepare() {
        const items = fresh();
        return each((index) => bare[way](items[index] ?? []));
      },
    })),
  ];
}

const bareWays = [
  ['upsert', 'upserts'],
  ['insert', 'insertMany'],
] as const;
