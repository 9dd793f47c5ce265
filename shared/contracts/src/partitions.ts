// Partitions: the log of event batches is divided by integration into 32 parts, for ever, so that replicas of webhooks
// share it. This file alone knows which integration belongs to which.
//
//   a publisher writes            nats-server stores               a replica reads
//   ────────────────────────────  ───────────────────────────────  ─────────────────────────────────────────
//   event-batches.catalog.acme    event-batches.25.catalog.acme    event-batches.25.>, with its other ones
//
// No publisher knows of partitions: nats-server writes the number into the subject as it stores a message.
import { eventBatchesFilter, eventBatchesNoun } from './subjects.ts';

export const partitionsNumber = 32;

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** FNV-1a of 32 bits over the integration, as nats-server's `partition(32, 2)` has it. */
export function partitionOf(integration: string): number {
  let hash = offsetBasis;
  for (let at = 0; at < integration.length; at += 1) {
    hash = Math.imul(hash ^ integration.charCodeAt(at), prime);
  }
  return (hash >>> 0) % partitionsNumber;
}

/** How nats-server changes a subject before it stores its message. */
export const partitionTransform = {
  src: eventBatchesFilter,
  dest: `${eventBatchesNoun}.{{partition(${partitionsNumber},2)}}.{{wildcard(1)}}.{{wildcard(2)}}`,
} as const;

/** Under which the event batches of a partition are stored. */
export const partitionFilter = (partition: number): string => `${eventBatchesNoun}.${partition}.*.*`;

/** Under which those of an integration are. */
export const storedBatches = (integration: string): string =>
  `${eventBatchesNoun}.${partitionOf(integration)}.*.${integration}`;

export interface StoredBatchSubject {
  partition: number;
  /** As it stands there. */
  announcer: string;
  integration: string;
}

/** What the subject of a stored event batch says; undefined for another subject. */
export function readStoredBatchSubject(subject: string): StoredBatchSubject | undefined {
  const [noun, partition, announcer = '', integration, ...more] = subject.split('.');
  if (noun !== eventBatchesNoun || integration === undefined || more.length > 0) return undefined;
  return { partition: Number(partition), announcer, integration };
}
