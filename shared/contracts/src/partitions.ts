// Partitions: what webhooks reads of BUNDLES and DELIVERIES, divided by integration, so that each part is read by a
// consumer of its own. This file alone knows which integration belongs to which, and how a subject says so.
//
//   in force   a publisher writes   nats-server stores    a consumer reads
//   ─────────  ───────────────────  ────────────────────  ──────────────────────────────────────
//   1          bundles.acme         bundles.acme          bundles.*
//   4          bundles.acme         bundles.4.3.acme      bundles.4.0.*, … bundles.4.3.*, one each
//
// No publisher knows the number: it stands in the stream's configuration alone, and nats-server writes it into the
// subject of each message as it stores it. So every message bears the number under which it came, whatever the number
// is now; and those of two numbers are never taken for each other, as they differ in how many tokens they have.

/** One of so many. Those of one integration are all in the same. */
export interface Partition {
  number: number;
  /** From 0 on. */
  partition: number;
}

export const partitionsMax = 64;

export const unpartitioned: Partition = { number: 1, partition: 0 };

/** What subjects begin with that are divided. */
export type PartitionedNoun = 'bundles' | 'deliveries';

/** How nats-server changes a subject before it stores its message. */
export interface SubjectTransform {
  src: string;
  dest: string;
}

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** FNV-1a of 32 bits over the integration, as nats-server's `partition(number, 1)` has it. */
export function partitionOf(integration: string, number: number): number {
  let hash = offsetBasis;
  for (let at = 0; at < integration.length; at += 1) {
    hash = Math.imul(hash ^ integration.charCodeAt(at), prime);
  }
  return (hash >>> 0) % number;
}

/** Undefined where nothing is divided. */
export const transformOf = (noun: string, number: number): SubjectTransform | undefined =>
  number === 1
    ? undefined
    : { src: `${noun}.*`, dest: `${noun}.${number}.{{partition(${number},1)}}.{{wildcard(1)}}` };

/** The number that a stream has in force. One that this system did not write divides nothing. */
export function numberIn(transform: Readonly<Partial<SubjectTransform>> | undefined): number {
  const [noun = '', number] = transform?.dest?.split('.') ?? [];
  const found = Number(number);
  return transformOf(noun, found)?.dest === transform?.dest && found > 1 ? found : 1;
}

/** What a consumer of one partition reads. */
export const partitionFilter = (noun: PartitionedNoun, { number, partition }: Partition): string =>
  number === 1 ? `${noun}.*` : `${noun}.${number}.${partition}.*`;

/** All messages of an integration, under whatever number they came. */
export const partitionedSubjects = (noun: PartitionedNoun, integration: string): string[] => [
  `${noun}.${integration}`,
  `${noun}.*.*.${integration}`,
];

/** Of which integration a stored message is, and under which number it came; undefined where it is of no partition. */
export function readPartitionedSubject(subject: string): { integration: string; number: number } | undefined {
  const [, first = '', third, fourth, ...more] = subject.split('.');
  if (third === undefined) return { integration: first, number: 1 };
  return fourth === undefined || more.length > 0 ? undefined : { integration: fourth, number: Number(first) };
}
