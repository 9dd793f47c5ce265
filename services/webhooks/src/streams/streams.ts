// The streams and consumers of webhooks. EVENTS and BUNDLES are in the contracts, as other services publish to them;
// what BUNDLES and DELIVERIES have by partition is in partitioning.ts.
import {
  fromSetting,
  ofEveryStream,
  partitionFilters,
  unpartitioned,
  type PartitionedNoun,
  type StreamSettings,
} from '@integration-sync/contracts';
import type { ConsumerSpec, StreamSpec } from '@integration-sync/runtime/bus';
import { deliveriesNoun, deliveriesSubject, sharedDeliveries } from './subjects.ts';

const dayMs = 24 * 60 * 60 * 1000;

export const deliveriesStream = 'DELIVERIES';
export const heldStream = 'HELD';
export const attemptsStream = 'ATTEMPTS';

/** A replica extends its leases twice a second, so nats-server notices one that died this soon. */
const ackWaitMs = 4_000;

export interface WebhooksStreamSettings extends StreamSettings {
  /** 0: no limit. */
  HELD_MAX_BYTES?: number;
  DELIVERY_PARTITIONS?: number;
}

/** Of a stream that is divided by integration. */
export const inPartitions = (noun: PartitionedNoun, settings: WebhooksStreamSettings) => ({
  noun,
  partitions: settings.DELIVERY_PARTITIONS ?? 1,
  settings: { partitions: fromSetting('DELIVERY_PARTITIONS', settings) },
});

export const streamSpecs = (settings: WebhooksStreamSettings): StreamSpec[] => {
  const all = { ...ofEveryStream(settings), atomicBatches: true };
  const divided = inPartitions(deliveriesNoun, settings);
  return [
    {
      ...all,
      ...divided,
      settings: { ...all.settings, ...divided.settings },
      name: deliveriesStream,
      description: 'What is to be delivered: parcels of events and the endpoints that they are for',
      subjects: [`${deliveriesNoun}.>`],
      retention: 'workqueue',
      discard: 'new',
      duplicateWindowMs: 10 * 60 * 1000,
    },
    {
      ...all,
      name: heldStream,
      description:
        'Deliveries set aside: behind a closed gate, beyond a full lane, or missed by a disabled endpoint',
      subjects: ['held.>'],
      retention: 'limits',
      discard: 'new',
      maxAgeMs: 7 * dayMs,
      bytesMax: settings.HELD_MAX_BYTES ?? 0,
      duplicateWindowMs: 10 * 60 * 1000,
      settings: { ...all.settings, bytesMax: fromSetting('HELD_MAX_BYTES', settings) },
    },
    {
      ...all,
      name: attemptsStream,
      description: 'The attempt log: the last 1,000 of each endpoint',
      subjects: ['attempts.>'],
      retention: 'limits',
      discard: 'old',
      maxAgeMs: 7 * dayMs,
      messagesPerSubjectMax: 1_000,
    },
  ];
};

export const fanoutConsumer: ConsumerSpec = {
  name: 'webhook-fanout',
  description: 'Turns events into deliveries',
  // Those that came while there was one partition; where there are more, others have consumers of their own. A consumer
  // whose only filter is the stream's own subject nats-server takes for one without a filter, and keeps for it what the
  // others have acknowledged; this one has a second filter.
  filterSubjects: partitionFilters('bundles', unpartitioned),
  ackWaitMs,
  // Bundles that are under way, over all replicas: some 14 MB of usual ones, and 74 MB at most.
  ackPendingMax: 128,
  deliver: 'all',
};

export const deliverConsumer: ConsumerSpec = {
  name: 'webhook-deliver',
  description: 'Deliveries, shared by all replicas',
  filterSubjects: sharedDeliveries,
  ackWaitMs,
  ackPendingMax: 50_000,
  deliver: 'all',
};

/** There as long as replicas read it: few integrations have a backlog at a time, and a consumer each has its price. */
export const backlogConsumer = (integration: string): ConsumerSpec => ({
  name: `webhook-backlog-${integration}`,
  description: 'What one integration has waiting beyond its share, shared by all replicas',
  filterSubjects: [deliveriesSubject(integration, 'backlog')],
  ackWaitMs,
  ackPendingMax: 10_000,
  deliver: 'all',
  inactiveAfterMs: 60_000,
});
