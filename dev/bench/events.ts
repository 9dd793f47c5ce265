// How long it takes until the events of a push of 500 are stored in the stream and acknowledged.
import { randomUUID } from 'node:crypto';
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { costTable } from './costs.ts';
import { itemsPerPush, makeEvents } from './items.ts';
import { compare, reportLine } from './measure.ts';
import { processesOf } from './processes.ts';
import type { Setting } from './setting.ts';

const turnsDefault = 30;
/** Unmeasured turns, in which V8 compiles the code that publishes. */
const warmUp = 150;
const wantedMs = 10;

export async function benchEvents({ startStack, options, say }: Setting): Promise<void> {
  const stack = await startStack();
  const log = openLog({ service: 'bench', level: 'warn' });
  await using bus = await openBus({ url: stack.nats, name: 'bench', log });
  const integration = `bench-${randomUUID()}`;
  const turns = options.turns ?? turnsDefault;
  const compared = await compare(
    [
      {
        name: 'publish',
        prepare() {
          const events = makeEvents(integration, itemsPerPush);
          return () => bus.publishBatch(events);
        },
      },
    ],
    { turns, warmUp, processes: () => processesOf(stack) },
  );
  const { medianMs: ms = Number.NaN, spent } = compared.get('publish') ?? {};
  say(
    reportLine(`ms to publish the events of a push of ${itemsPerPush}`, ms, `median of ${turns} turns`, [
      '≤',
      wantedMs,
    ]),
  );
  if (spent === undefined) return;
  for (const line of costTable([{ name: 'publish', spent, count: turns }], { one: 'push' })) say(line);
}
