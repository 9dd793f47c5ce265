// The trace of a push, from the request to the stream, and through the death of its process.
import { randomUUID } from 'node:crypto';
import { eventBatchesStream, eventsStream, storedBatches } from '@integration-sync/contracts';
import type { StoredMessage } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { settledWithinMs } from '../../support/left-behind.ts';
import { storedHeaders } from '../../support/stored-headers.ts';
import { startStoppingService } from '../../support/stopping-service.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${id}-00f067aa0ba902b7-01`;
const body = JSON.stringify({ suppliers: [{ externalId: 'S-1', name: 'Nordic' }] });

const push = (integration: string, trace?: string) =>
  world.bus.request('svc.catalog.suppliers.push', {
    headers: { integration, 'request-id': 'r', traceparent: trace },
    body,
    timeoutMs: 30_000,
  });

async function published(integration: string): Promise<StoredMessage[]> {
  const from = { sequence: 1 };
  const events = world.bus.readStream(eventsStream, { subject: `events.${integration}.>`, from });
  const batches = world.bus.readStream(eventBatchesStream, { subject: storedBatches(integration), from });
  return [...(await Array.fromAsync(events)), ...(await Array.fromAsync(batches))];
}

/** Two events and their batch. */
const allOf = (integration: string, withinMs?: number) =>
  eventually(
    () => published(integration),
    (messages) => messages.length === 3,
    withinMs,
  );

it('without a collector, the events of a push carry the traceparent of its caller', async () => {
  const lines: string[] = [];
  const log = openLog({
    service: 'catalog',
    level: 'info',
    pretty: false,
    destination: { write: (line: string) => void lines.push(line) },
  });
  await using _catalog = await world.startCatalog({ log });
  const [told, untold] = [randomUUID(), randomUUID()];
  await push(told, traceparent);
  await push(untold);
  const traced = await allOf(told);
  const untraced = await allOf(untold);
  expect(traced.map((message) => message.traceparent)).toEqual([traceparent, traceparent, traceparent]);
  expect(untraced.map((message) => message.traceparent)).toEqual([undefined, undefined, undefined]);
  const headers = [
    ...(await storedHeaders(world.nats.url, eventsStream, `events.${untold}.>`)),
    ...(await storedHeaders(world.nats.url, eventBatchesStream, storedBatches(untold))),
  ];
  expect(headers.map((one) => [one.has('Nats-Msg-Id'), one.has('traceparent')])).toEqual(
    headers.map(() => [true, false]),
  );
  expect(headers).toHaveLength(3);
  const shapes = [traced, untraced].map((messages) =>
    messages.map(({ body: bytes }) =>
      Buffer.from(bytes)
        .toString()
        .replaceAll(/sync_[\da-f]+|sup_[\da-f]+|\d{4}-[\d-]+T[\d:.]+Z|^\d+ \d+$/gm, '…')
        .replaceAll(told, '…')
        .replaceAll(untold, '…'),
    ),
  );
  expect(shapes[0]).toEqual(shapes[1]);
  const requests = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const traceIds = requests
    .filter(({ msg }) => msg === 'request')
    .map((line) => [line['integration'], line['traceId']]);
  expect(traceIds).toEqual([
    [told, id],
    [untold, undefined],
  ]);
});

it('events that another replica announces for a dead process have the trace of their push', async () => {
  await using service = await startStoppingService('catalog', 'before-answer', world.environment);
  const integration = randomUUID();
  const answer = push(integration, traceparent).catch(() => undefined);
  await service.reached();
  await service.kill();
  await answer;
  const journal = world.store.collection<{ _id: string; integration: string; traceparent?: string }>(
    'catalog_journal',
  );
  expect(await journal.findOne({ integration })).toMatchObject({ state: 'written', traceparent });
  await using _other = await world.startCatalog();
  const messages = await allOf(integration, settledWithinMs);
  expect(messages.map((message) => message.traceparent)).toEqual([traceparent, traceparent, traceparent]);
  // The history needs it no more.
  await eventually(
    () => journal.findOne({ integration }),
    (entry) => entry !== null && !('traceparent' in entry),
  );
});
