// Pushes through the whole path, against bare scripts on the same engine.
import { randomBytes } from 'node:crypto';
import type { Stack } from '../stack/index.ts';
import type { Bare } from './bare.ts';
import type { Client } from './client.ts';
import { cpuMs } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, inLanes, reportLine, type Contender } from './measure.ts';

const turns = 15;
const pushesPerLane = 3;
const name = (): string => randomBytes(6).toString('hex');

export async function benchPushes(
  stack: Stack,
  client: Client,
  bare: Bare,
  say: (line: string) => void,
): Promise<void> {
  for (const lanes of [1, 4]) {
    const pushes = lanes * pushesPerLane;
    const fresh = () => Array.from({ length: pushes }, () => makeItems(name()));
    const known = Array.from({ length: pushes }, () => pushBody(makeItems(name())));
    for (const body of known) await client.post(suppliersPath, body);

    const each = (run: (index: number) => Promise<unknown>) => () => inLanes(lanes, pushesPerLane, run);
    const contenders: Contender[] = [
      {
        name: 'service',
        prepare() {
          const bodies = fresh().map((items) => pushBody(items));
          return each((index) => client.post(suppliersPath, bodies[index] ?? Buffer.alloc(0)));
        },
      },
      {
        name: 'unchanged',
        prepare: () => each((index) => client.post(suppliersPath, known[index] ?? Buffer.alloc(0))),
      },
      ...(['upsert', 'upsertById', 'insert'] as const).map((way): Contender => ({
        name: way,
        prepare() {
          const items = fresh();
          return each((index) => bare[way](items[index] ?? []));
        },
      })),
    ];
    const figures = await compare(contenders, { turns });
    const rate = (which: string): number => (pushes / (figures.get(which)?.medianMs ?? Number.NaN)) * 1_000;
    const line = (what: string, one: string, other: string, least: number): void => {
      const ratio = rate(one) / rate(other);
      const detail = `${rate(one).toFixed(1)} against ${rate(other).toFixed(1)} pushes/s`;
      say(reportLine(`${what}, ${lanes} in flight`, ratio, detail, `≥ ${least}`, ratio >= least));
    };
    line('push of 500 new / bare upserts', 'service', 'upsert', 2.5);
    line('push of 500 new / bare upserts by _id', 'service', 'upsertById', 2.5);
    line('push of 500 new / bare insertMany', 'service', 'insert', lanes === 1 ? 0.6 : 0.75);
    line('unchanged push of 500 / bare upserts', 'unchanged', 'upsert', 2.3);
    line('unchanged push of 500 / bare upserts by _id', 'unchanged', 'upsertById', 2.3);
  }
  await benchCpu(stack, client, say);
}

const cpuPushes = 60;

async function benchCpu(stack: Stack, client: Client, say: (line: string) => void): Promise<void> {
  const { gateway = [], catalog = [] } = stack.pids();
  const bodies = Array.from({ length: cpuPushes }, () => pushBody(makeItems(randomBytes(6).toString('hex'))));
  const before = { gateway: cpuMs(gateway), catalog: cpuMs(catalog) };
  await inLanes(4, cpuPushes / 4, (index) => client.post(suppliersPath, bodies[index] ?? Buffer.alloc(0)));
  const used = {
    gateway: (cpuMs(gateway) - before.gateway) / cpuPushes,
    catalog: (cpuMs(catalog) - before.catalog) / cpuPushes,
  };
  const total = used.gateway + used.catalog;
  say(
    reportLine(
      `ms of processor time per push of ${itemsPerPush}`,
      total,
      `gateway ${used.gateway.toFixed(2)}, catalog ${used.catalog.toFixed(2)}`,
      '≤ 6.5',
      total <= 6.5,
    ),
  );
}
