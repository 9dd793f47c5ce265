// The rate of pushes through the whole service, against bare scripts on the same database.
import { randomBytes } from 'node:crypto';
import { openBare, type Bare } from './bare.ts';
import { openClient, type Client } from './client.ts';
import { costTable, type Cost } from './costs.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, inLanes, type Compared, type Contender } from './measure.ts';
import { ofBareScript, ofService, processesOf } from './processes.ts';
import type { Setting } from './setting.ts';
import { tableOf } from './table.ts';

const turnsDefault = 15;
const pushesPerLane = 3;
/** After this time, catalog has published a push and noted it as announced, and webhooks has read it. */
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
    for (const line of reportOf(compared, { lanes, turns })) say(line);
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
      name: 'service, new',
      prepare() {
        const bodies = fresh().map((items) => pushBody(items));
        return each((index) => client.post(suppliersPath, bodies[index] ?? Buffer.alloc(0)));
      },
    },
    {
      name: 'service, unchanged',
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

/** The wanted rate of pushes of new suppliers, as a share of the rate of bare `insertMany`, which announces nothing. */
const wantedOfInserts = 0.85;

function reportOf(
  compared: ReadonlyMap<string, Compared>,
  { lanes, turns }: { lanes: number; turns: number },
): string[] {
  const pushes = lanes * pushesPerLane;
  const rate = (name: string): number => (pushes / (compared.get(name)?.medianMs ?? Number.NaN)) * 1_000;
  const against = (ours: string, name: string): string => (rate(ours) / rate(name)).toFixed(2);
  const ratio = rate('service, new') / rate('insertMany');
  const rows = [...compared.keys()].map((name) => [
    name,
    rate(name).toFixed(1),
    against('service, new', name),
    against('service, unchanged', name),
  ]);
  const costs = Array.from(compared, ([name, { spent }]): Cost => ({
    name,
    spent,
    count: pushes * turns,
    own: name.startsWith('service') ? ofService : ofBareScript,
  }));
  return [
    '',
    ...tableOf([`pushes of ${itemsPerPush}, ${lanes} in flight`, 'a second', 'new ×', 'unchanged ×'], rows),
    `medians of ${turns} turns; new / insertMany ${ratio.toFixed(2)}, wanted ≥ ${wantedOfInserts}: ${ratio >= wantedOfInserts ? 'ok' : 'MISS'}`,
    ...costTable(costs, { one: 'push' }),
  ];
}
