// The rate of pushes through the whole service, against bare scripts on the same database.
import { randomBytes } from 'node:crypto';
import { costTables, type Cost } from './costs.ts';
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

export async function benchPushes(setting: Setting): Promise<void> {
  for (const lanes of [1, 4]) {
    const contenders = await contendersOf(setting, lanes);
    const processes = () => processesOf(setting.stack);
    const turns = setting.options.turns ?? turnsDefault;
    const compared = await compare(contenders, { turns, processes, settleMs });
    report(setting, compared, { lanes, turns });
  }
}

async function contendersOf({ client, bare }: Setting, lanes: number): Promise<Contender[]> {
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
  ['upsertById', 'upserts by _id'],
  ['insert', 'insertMany'],
] as const;

/** The wanted rate of pushes of new suppliers, as a share of the rate of bare `insertMany`, which announces nothing. */
const wantedOfInserts = 0.85;

function report(
  { say }: Setting,
  compared: ReadonlyMap<string, Compared>,
  { lanes, turns }: { lanes: number; turns: number },
): void {
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
  const head = [`pushes of ${itemsPerPush}, ${lanes} in flight`, 'a second', 'new ×', 'unchanged ×'];
  say('');
  for (const line of tableOf(head, rows)) say(line);
  say(
    `medians of ${turns} turns; new / insertMany ${ratio.toFixed(2)}, wanted ≥ ${wantedOfInserts}: ${ratio >= wantedOfInserts ? 'ok' : 'MISS'}`,
  );
  const costs = Array.from(compared, ([name, { spent }]): Cost => ({
    name,
    spent,
    count: pushes * turns,
    own: name.startsWith('service') ? ofService : ofBareScript,
  }));
  for (const line of costTables(costs, { one: 'push' })) say(line);
}
