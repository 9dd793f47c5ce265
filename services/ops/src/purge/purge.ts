// Removes an integration from all collections and streams, in passes until a pass finds nothing: working replicas write documents
// and messages again. The erasing of a single supplier is another thing: shared/sync/src/items/archive-erase.ts.
import { setTimeout as wait } from 'node:timers/promises';
import { batchesOperating } from '@integration-sync/batches/operating';
import { catalogOperating } from '@integration-sync/catalog/operating';
import { eventBatchesStream, eventSubject, eventsStream, storedBatches } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { messageHolding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import { expectedStreams, openWebhooksHoldings } from '@integration-sync/webhooks/operating';
import { Refusal, exitCodes } from '../command.ts';
import { numberInWords, type Output } from '../output.ts';

export type Purged = Awaited<ReturnType<typeof purge>>;

/** The wait between two passes: an attempt takes 10 s at most, and is in the attempt log within another second. */
const betweenPassesMs = 15_000;
const passesMax = 4;

export async function purge(holdings: Holdings, output: Output) {
  const removed: Record<string, number> = {};
  for (let passes = 1; ; passes += 1) {
    const found = await removeAll(holdings, passes, output);
    for (const [location, count] of found) removed[location] = (removed[location] ?? 0) + count;
    const cameBack = [...found].filter(([, count]) => count > 0).map(([location]) => location);
    // At least two passes are made: even if the first pass finds nothing, a replica may be carrying out a push.
    const isOver = passes > 1 && cameBack.length === 0;
    if (isOver) await holdings.finish();
    if (isOver || passes === passesMax) return { removed, passes, cameBack };
    output.progress(
      `pass ${passes}: waiting ${betweenPassesMs / 1_000} s for the work of replicas before another pass`,
    );
    await wait(betweenPassesMs);
  }
}

async function removeAll(holdings: Holdings, pass: number, output: Output): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  await holdings.begin();
  for (const { location, remove } of holdings.all) {
    const count = await remove();
    found.set(location, count);
    if (count > 0) output.progress(`pass ${pass}: ${numberInWords(count)} removed from ${location}`);
  }
  return found;
}

// The collections and streams of all services, in the order of removal: causes go before effects. Without webhooks and event
// batches nothing is delivered any more, and without journals nothing is announced.

export type Holdings = ReturnType<typeof openHoldings>;

export function openHoldings(store: Store, bus: Bus, integration: string) {
  const { documents, messages, ...removal } = openWebhooksHoldings(store, bus, integration);
  return {
    ...removal,
    all: [
      ...documents,
      ...catalogOperating.holdings(store, integration),
      ...batchesOperating.holdings(store, integration),
      messageHolding(bus, eventBatchesStream, storedBatches(integration)),
      ...messages,
      messageHolding(bus, eventsStream, eventSubject(integration, '>')),
    ],
  };
}

/** Refuses while a stream or its leader is away, because its messages could be neither counted nor removed. */
export async function requireStreams(bus: Pick<Bus, 'inspectStreams'>): Promise<void> {
  const streams = await bus.inspectStreams(expectedStreams({}));
  const away = streams.filter(({ standing }) => standing !== 'there').map(({ name }) => name);
  if (away.length === 0) return;
  throw new Refusal(
    `Nothing was removed: NATS lacks these streams or their leaders: ${away.join(', ')}. See ops streams.`,
    exitCodes.wrong,
  );
}
