// Endpoints, event batches and endpoint queues of webhooks as plain values, for unit tests.
import type { Bus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { openRetry } from '@integration-sync/runtime/retry';
import { Integrations } from '../../services/webhooks/src/delivering/owned-integrations.ts';
import { EndpointQueue, type QueueOptions } from '../../services/webhooks/src/delivering/endpoint-queue.ts';
import { type Endpoint, newEndpoint } from '../../services/webhooks/src/endpoints/endpoint.ts';
import {
  readBatch,
  type LoggedBatch,
  type StreamEvent,
} from '../../services/webhooks/src/log/logged-batch.ts';
import { Windows, type Window } from '../../services/webhooks/src/log/window.ts';
import { openMatch } from '../../services/webhooks/src/matching/match.ts';

/** An endpoint with a closed circuit: it has taken a delivery before. */
export const openEndpoint = (id: string): Endpoint => ({
  ...newEndpoint({
    id,
    integration: 'acme',
    url: 'https://acme.example/hook',
    events: ['supplier.created'],
    secret: 'sealed',
    eventsAfter: 0,
  }),
  open: true,
});

/** An event batch with `count` events of one push. */
export const batchOf = (sequence: number, count = 1, more: Partial<LoggedBatch> = {}): LoggedBatch => {
  const events = Array.from({ length: count }, (_, index): StreamEvent => ({
    eventId: `${sequence}-${index}`,
    event: 'supplier.created',
    timestamp: new Date(sequence).toISOString(),
    sequence,
    origin: `sync_${sequence}`,
    aboutEndpoint: undefined,
    body: Buffer.from('{}'),
  }));
  return {
    sequence,
    partition: 0,
    integration: 'acme',
    storedAt: new Date(),
    bytes: 100 * count,
    undecodedBytes: 100,
    count,
    eventsThrough: sequence,
    endpointId: undefined,
    isErasing: false,
    traceparent: undefined,
    events: () => events,
    texts: () => [],
    ...more,
  };
};

/** The queue of an endpoint in an integration that has these event batches. */
export function queueOf(
  endpoint: Endpoint,
  batches: readonly LoggedBatch[],
  options: Partial<QueueOptions> = {},
) {
  const window = windowOf();
  for (const batch of batches) window.add(batch);
  const queue = new EndpointQueue({
    subscriber: endpoint,
    integration: endpoint.integration,
    claim: { stream: 'one', term: 1 },
    window,
    match: openMatch(),
    cutOff: () => new AbortController().signal,
    from: 1,
    nowMs: 0,
    now: 0,
    ...options,
  });
  return { queue, window };
}

/** A window that reads from the log only what a test gives. */
export const windowOf = (readStream?: Bus['readStream']): Window => openWindows(readStream).open('acme', 1);

const openWindows = (readStream: Bus['readStream'] = async function* () {}): Windows =>
  new Windows({ bus: { readStream }, read: (stored) => readBatch(stored, log) });

type IntegrationsOptions = ConstructorParameters<typeof Integrations>[0];

/** The integrations of an owner that reads nothing by itself, unless `own` says otherwise. */
export const openIntegrations = (
  own: Pick<IntegrationsOptions, 'active' | 'owned' | 'revisions' | 'endpoints'> &
    Partial<IntegrationsOptions>,
): Integrations =>
  new Integrations({
    windows: openWindows(),
    correctCutoffs: async () => undefined,
    wake: () => undefined,
    isFollowed: () => false,
    onBehind: () => undefined,
    endpointsMax: 100,
    retry: openRetry(log, new AbortController().signal),
    log,
    ...own,
  });

const log = openLog({ service: 'test', level: 'silent' });
