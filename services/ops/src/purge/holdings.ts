// The places of all services, in the order of their removal: first what makes something else. Without its webhooks nothing
// is delivered any more, without its journals nothing is announced, without event batches nothing is delivered.
import { eventBatchesStream, eventsStream, eventSubject, storedBatches } from '@integration-sync/contracts';
import { batchesHoldings } from '@integration-sync/batches/operating';
import { catalogHoldings } from '@integration-sync/catalog/operating';
import type { Bus } from '@integration-sync/runtime/bus';
import { messageHolding, type Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import {
  expectedStreams,
  openWebhooksHoldings,
  type WebhooksHoldings,
} from '@integration-sync/webhooks/operating';
import { exitCodes, Refusal } from '../command.ts';

export interface Holdings extends Pick<WebhooksHoldings, 'isBegun' | 'begin' | 'finish'> {
  all: readonly Holding[];
}

export function openHoldings(store: Store, bus: Bus, integration: string): Holdings {
  const { documents, messages, ...removal } = openWebhooksHoldings(store, bus, integration);
  return {
    ...removal,
    all: [
      ...documents,
      ...catalogHoldings(store, integration),
      ...batchesHoldings(store, integration),
      messageHolding(bus, eventBatchesStream, [storedBatches(integration)]),
      ...messages,
      messageHolding(bus, eventsStream, [eventSubject(integration, '>')]),
    ],
  };
}

/** Where one is away it is not known what it has. */
export async function requireStreams(bus: Pick<Bus, 'inspectStreams'>): Promise<void> {
  const streams = await bus.inspectStreams(expectedStreams({}));
  const away = streams.filter(({ standing }) => standing !== 'there').map(({ name }) => name);
  if (away.length === 0) return;
  throw new Refusal(
    `Nothing was removed: NATS does not have ${away.join(', ')}, or no leader for it. See ops streams.`,
    exitCodes.wrong,
  );
}
