// What a push of 500 costs the gateway. Its share is too small to be seen beside what the database does, so
// catalog makes way for something that gives its answer at once, and thousands of pushes are counted.
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import type { Stack } from '../stack/index.ts';
import type { Client } from './client.ts';
import { cpuMs } from './cpu.ts';
import { itemsPerPush, makeItems, pushBody } from './items.ts';
import { inLanes, reportLine } from './measure.ts';

const path = '/api/v1/integration/suppliers';
/** Until then V8 still compiles what runs often. */
const warmUpPushes = 6_000;
const pushes = 4_000;
const wantedMs = 0.5;

export async function benchGateway(stack: Stack, client: Client, say: (line: string) => void): Promise<void> {
  const body = pushBody(makeItems('gateway'));
  const { body: answer } = await client.post(path, body);
  const log = openLog({ service: 'bench', level: 'warn' });
  await using bus = await openBus({ url: stack.nats, name: 'bench', log });
  stack.hold('catalog');
  await stack.kill('catalog');
  {
    await using _standIn = await bus.serve({
      service: 'catalog',
      version: '1.0.0',
      description: 'Gives always the same answer.',
      inFlightMax: 100,
      quiet: ['svc.catalog.suppliers.push'],
      handlers: {
        'svc.catalog.suppliers.push': () =>
          Promise.resolve({
            headers: { 'x-sync-id': 'sync_bench' },
            body: answer,
            logFields: { syncId: 'sync_bench', items: itemsPerPush, created: itemsPerPush },
          }),
      },
    });
    await inLanes(4, warmUpPushes / 4, () => client.post(path, body));
    for (const lanes of [1, 4]) {
      const before = cpuMs(stack.pids().gateway ?? []);
      await inLanes(lanes, pushes / lanes, () => client.post(path, body));
      const ms = (cpuMs(stack.pids().gateway ?? []) - before) / pushes;
      say(
        reportLine(
          `ms of processor time of the gateway per push of ${itemsPerPush}, ${lanes} in flight`,
          ms,
          `${pushes} pushes`,
          `≤ ${wantedMs}`,
          ms <= wantedMs,
        ),
      );
    }
  }
  await stack.resume('catalog');
}
