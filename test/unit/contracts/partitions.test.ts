import { describe, expect, it } from 'vitest';
import {
  numberIn,
  numberFilters,
  partitionFilters,
  partitionOf,
  partitionedSubjects,
  partitionsMax,
  readPartitionedSubject,
  transformOf,
} from '@integration-sync/contracts';

describe('the partition of an integration', () => {
  // As nats-server 2.15 has stored them under `{{partition(4,1)}}`. A change of this table moves what is stored already.
  it.each([
    ['acme', 1, 3],
    ['beta', 1, 3],
    ['gamma', 0, 2],
    ['delta', 1, 1],
    ['7', 0, 2],
    ['__proto__', 1, 1],
    ['a-b', 1, 3],
  ])('of %s is %i of 2 and %i of 4, as nats-server computes it', (integration, ofTwo, ofFour) => {
    expect(partitionOf(integration, 2)).toBe(ofTwo);
    expect(partitionOf(integration, 4)).toBe(ofFour);
    expect(partitionOf(integration, 1)).toBe(0);
  });

  it.each([2, 3, 4, 16, partitionsMax])('is any of %i equally often', (number) => {
    const names = Array.from({ length: 1_000 * number }, (_, n) => `customer-${n}`);
    const counts = new Map<number, number>();
    for (const name of names) {
      const partition = partitionOf(name, number);
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    expect([...counts.keys()].toSorted((one, other) => one - other)).toEqual([...Array(number).keys()]);
    expect(Math.min(...counts.values())).toBeGreaterThan(850);
    expect(Math.max(...counts.values())).toBeLessThan(1_150);
  });
});

describe('the number of partitions', () => {
  it('is read from what a stream was given', () => {
    for (const noun of ['bundles', 'deliveries'])
      for (let number = 1; number <= partitionsMax; number += 1)
        expect(numberIn(transformOf(noun, number))).toBe(number);
  });

  it.each([
    undefined,
    {},
    { src: '', dest: '' },
    { src: 'bundles.*', dest: 'other.{{wildcard(1)}}' },
    { src: 'bundles.*', dest: 'bundles.4.{{partition(5,1)}}.{{wildcard(1)}}' },
  ])('is 1 where the stream has another transform than ours: %j', (transform) => {
    expect(numberIn(transform)).toBe(1);
  });
});

describe('a subject', () => {
  it.each([
    ['bundles.catalog.acme', { announcer: 'catalog', integration: 'acme', number: 1 }],
    ['bundles.catalog.4', { announcer: 'catalog', integration: '4', number: 1 }],
    ['bundles.4.3.catalog.acme', { announcer: 'catalog', integration: 'acme', number: 4 }],
    ['bundles.acme', { integration: 'acme', number: 1 }],
    ['bundles.4.3.acme', { integration: 'acme', number: 4 }],
    ['bundles.4.3.catalog.acme.more', undefined],
    ['deliveries.acme', { integration: 'acme', number: 1 }],
    ['deliveries.2.1.backlog', { integration: 'backlog', number: 2 }],
    ['deliveries.acme.backlog', undefined],
    ['deliveries.2.1.acme.more', undefined],
  ])('%s says under which number its message came', (subject, read) => {
    expect(readPartitionedSubject(subject)).toEqual(read);
  });

  it('of one number is read by no consumer of another', () => {
    expect(partitionFilters('bundles', { number: 1, partition: 0 })).toEqual(['bundles.*.*', 'bundles.*']);
    expect(partitionFilters('bundles', { number: 4, partition: 3 })).toEqual([
      'bundles.4.3.*.*',
      'bundles.4.3.*',
    ]);
    expect(numberFilters('bundles', 4)).toEqual(['bundles.4.*.*.*', 'bundles.4.*.*']);
    expect(partitionFilters('deliveries', { number: 4, partition: 3 })).toEqual(['deliveries.4.3.*']);
    expect(partitionedSubjects('deliveries', 'acme')).toEqual(['deliveries.acme', 'deliveries.*.*.acme']);
    expect(partitionedSubjects('bundles', 'acme')).toEqual([
      'bundles.*.acme', 'bundles.acme', 'bundles.*.*.*.acme', 'bundles.*.*.acme',
    ]); // prettier-ignore
  });
});
