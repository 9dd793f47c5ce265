// Partitions: what webhooks reads of BUNDLES and DELIVERIES, divided by integration, so that each part is read by a
// consumer of its own. This file alone knows which integration belongs to which, and how a subject says so.
//
//   in force   a publisher writes     nats-server stores         a consumer reads
//   ─────────  ─────────────────────  ─────────────────────────  ──────────────────────────────────────────────────
//   1          bundles.catalog.acme   bundles.catalog.acme       bundles.*.*
//   4          bundles.catalog.acme   bundles.4.3.catalog.acme   bundles.4.0.*.*, … bundles.4.3.*.*, one each
//   1          deliveries.acme        deliveries.acme            deliveries.*
//   4          deliveries.acme        deliveries.4.3.acme        deliveries.4.0.*, … deliveries.4.3.*, one each
//
// A bundle that was stored before bundles had an announcer lies under bundles.acme or bundles.4.3.acme. Consumers read it
// as well, until the stream has no such message any more.
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
export function transformOf(noun: string, number: number): SubjectTransform | undefined {
  if (number === 1) return undefined;
  const begin = `${noun}.${number}`;
  return noun === 'bundles'
    ? { src: `${noun}.*.*`, dest: `${begin}.{{partition(${number},2)}}.{{wildcard(1)}}.{{wildcard(2)}}` }
    : { src: `${noun}.*`, dest: `${begin}.{{partition(${number},1)}}.{{wildcard(1)}}` };
}

/** The number that a stream has in force. One that this system did not write divides nothing. */
export function numberIn(transform: Readonly<Partial<SubjectTransform>> | undefined): number {
  const [noun = '', number] = transform?.dest?.split('.') ?? [];
  const found = Number(number);
  return transformOf(noun, found)?.dest === transform?.dest && found > 1 ? found : 1;
}

/** Under which its messages lie. */
export const partitionFilters = (noun: PartitionedNoun, { number, partition }: Partition): string[] =>
  filters(noun, number === 1 ? noun : `${noun}.${number}.${partition}`, '*');

/** Of all partitions of so many. */
export const numberFilters = (noun: PartitionedNoun, number: number): string[] =>
  filters(noun, number === 1 ? noun : `${noun}.${number}.*`, '*');

/** All messages of an integration, under whatever number they came. */
export const partitionedSubjects = (noun: PartitionedNoun, integration: string): string[] => [
  ...filters(noun, noun, integration),
  ...filters(noun, `${noun}.*.*`, integration),
];

const filters = (noun: PartitionedNoun, begin: string, integration: string): string[] =>
  noun === 'bundles' ? [`${begin}.*.${integration}`, `${begin}.${integration}`] : [`${begin}.${integration}`];

export interface PartitionedSubject {
  integration: string;
  /** The number under which the message came. */
  number: number;
  /** Of a bundle that names it. */
  announcer: string | undefined;
}

/** What the subject of a stored message says; undefined where it is of no partition. */
export function readPartitionedSubject(subject: string): PartitionedSubject | undefined {
  const [noun, ...tokens] = subject.split('.');
  const announcer = noun === 'bundles' && tokens.length % 2 === 0 ? tokens.at(-2) : undefined;
  const before = tokens.length - (announcer === undefined ? 1 : 2);
  if (before !== 0 && before !== 2) return undefined;
  return { integration: tokens.at(-1) ?? '', number: before === 0 ? 1 : Number(tokens[0]), announcer };
}
