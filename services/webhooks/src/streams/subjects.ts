// The subjects of DELIVERIES. On the shared way nats-server writes the partition of the integration into them
// (partitions.ts of the contracts); the way that an integration has for itself needs none.
import {
  partitionedSubjects,
  partitionFilters,
  readPartitionedSubject,
  unpartitioned,
} from '@integration-sync/contracts';

/** The way that a parcel takes: the one that all integrations share, or the one that its integration has for itself. */
export type Way = 'shared' | 'backlog';

export const deliveriesNoun = 'deliveries';

/** As a replica publishes them. */
export const deliveriesSubject = (integration: string, way: Way): string =>
  way === 'shared' ? `${deliveriesNoun}.${integration}` : `${deliveriesNoun}.${integration}.backlog`;

/** As they are stored, those of the shared way first. */
export const storedDeliveries = (integration: string): string[] => [
  ...partitionedSubjects(deliveriesNoun, integration),
  deliveriesSubject(integration, 'backlog'),
];

/** Of a stored parcel. */
export function readDeliveriesSubject(subject: string): { integration: string; way: Way } {
  const shared = readPartitionedSubject(subject);
  if (shared !== undefined) return { integration: shared.integration, way: 'shared' };
  return { integration: subject.split('.')[1] ?? '', way: 'backlog' };
}

/** What the shared way has where it is not divided. */
export const sharedDeliveries = partitionFilters(deliveriesNoun, unpartitioned);
