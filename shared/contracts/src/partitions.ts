// Partitions: the log of event batches is divided by integration into 32 parts, for ever, so that replicas of webhooks
// share the log. Only this file knows the partition of an integration.
//
//   a publisher writes            nats-server stores               a replica reads
//   ────────────────────────────  ───────────────────────────────  ─────────────────────────────────────────
//   event-batches.catalog.acme    event-batches.25.catalog.acme    event-batches.25.>, with its other partitions
//
// No publisher knows of partitions: nats-server writes the number into the subject when it stores a message.
import { eventBatchesFilter, eventBatchesNoun } from './subjects.ts';

export const partitionsNumber = 32;

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** FNV-1a of 32 bits over the integration, as nats-server's `partition(32, 2)` computes it. */
export function partitionOf(integration: string): number {
  let hash = offsetBasis;
  for (let at = 0; at < integration.length; at += 1) {
    hash = Math.imul(hash ^ integration.charCodeAt(at), prime);
  }
  return (hash >>> 0) % partitionsNumber;
}

/** How nats-server changes the subject of a message before it stores the message. */
export const partitionTransform = {
  src: eventBatchesFilter,
  dest: `${eventBatchesNoun}.{{partition(${partitionsNumber},2)}}.{{wildcard(1)}}.{{wildcard(2)}}`,
} as const;

/** The filter of the subjects under which all event batches are stored. */
export const allStoredBatches = `${eventBatchesNoun}.*.*.*`;

/** nats-server publishes each event batch again once it has stored the batch, under the same subject. */
export const storedBatchesRepublished = {
  src: allStoredBatches,
  dest: `${eventBatchesNoun}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}`,
} as const;

/** The filter of the subjects under which the event batches of a partition are stored. */
export const partitionFilter = (partition: number): string => `${eventBatchesNoun}.${partition}.*.*`;

/** The filter of the subjects under which the event batches of an integration are stored. */
export const storedBatches = (integration: string): string =>
  `${eventBatchesNoun}.${partitionOf(integration)}.*.${integration}`;

/** The subject under which the batches are stored that replays address to one endpoint of the integration. */
export const storedReplays = (integration: string): string =>
  `${eventBatchesNoun}.${partitionOf(integration)}.replay.${integration}`;

/**
 * The parts of the subject of a stored event batch; undefined for another subject. `announcer` is the service that has
 * published the batch, or `replay` (`BatchAnnouncer`), or any text if the publisher is no service of this system.
 */
export function readStoredBatchSubject(subject: string) {
  const [noun, partition, announcer = '', integration, ...more] = subject.split('.');
  if (noun !== eventBatchesNoun || integration === undefined || more.length > 0) return undefined;
  return { partition: Number(partition), announcer, integration };
}
