// How long the events of a push of 500 take to be on the stream, and safe.
import { randomUUID } from 'node:crypto';
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import type { Stack } from '../stack/index.ts';
import { itemsPerPush } from './items.ts';
import { compare, reportLine } from './measure.ts';

const turns = 30;
/** Until then V8 still compiles what publishes. */
const warmUp = 150;
const wantedMs = 10;

export async function benchEvents(stack: Stack, say: (line: string) => void): Promise<void> {
  const log = openLog({ service: 'bench', level: 'warn' });
  await using bus = await openBus({ url: stack.nats, name: 'bench', log });
  const integration = `bench-${randomUUID()}`;
  const eventsOf = (syncId: string) =>
    Array.from({ length: itemsPerPush }, (_, place) => ({
      subject: `events.${integration}.supplier.created`,
      id: `${syncId}-created-${place}`,
      body: JSON.stringify({
        event: 'supplier.created',
        timestamp: new Date().toISOString(),
        integrationId: integration,
        data: { externalId: `SUP-${place}`, internalId: `sup_${randomUUID().replaceAll('-', '')}` },
      }),
    }));
  const figures = await compare(
    [
      {
        name: 'publish',
        prepare() {
          const events = eventsOf(randomUUID());
          return () => bus.publishBatch(events);
        },
      },
    ],
    { turns, warmUp },
  );
  const ms = figures.get('publish')?.medianMs ?? Number.NaN;
  say(
    reportLine(
      `ms to publish the events of a push of ${itemsPerPush}`,
      ms,
      'median',
      `≤ ${wantedMs}`,
      ms <= wantedMs,
    ),
  );
}
