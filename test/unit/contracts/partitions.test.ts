import { describe, expect, it } from 'vitest';
import {
  eventBatchesSubject,
  partitionFilter,
  partitionOf,
  partitionsNumber,
  readStoredBatchSubject,
  storedBatches,
} from '@integration-sync/contracts';

describe('the partition of an integration', () => {
  // As nats-server 2.15 stores them. A change of this table loses what is stored already.
  it.each([
    ['acme', 15],
    ['beta', 7],
    ['gamma', 10],
    ['delta', 1],
    ['7', 22],
    ['__proto__', 29],
    ['a-b', 3],
  ])('of %s is %i', (integration, partition) => {
    expect(partitionOf(integration)).toBe(partition);
  });

  it('is evenly distributed', () => {
    const counts = new Map<number, number>();
    for (let n = 0; n < 1_000 * partitionsNumber; n += 1) {
      const partition = partitionOf(`customer-${n}`);
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    expect([...counts.keys()].toSorted((one, other) => one - other)).toEqual([
      ...Array(partitionsNumber).keys(),
    ]);
    expect(Math.min(...counts.values())).toBeGreaterThan(850);
    expect(Math.max(...counts.values())).toBeLessThan(1_150);
  });
});

describe('the subject of an event batch', () => {
  it('names the publisher and the integration', () => {
    expect(eventBatchesSubject('catalog', 'acme')).toBe('event-batches.catalog.acme');
    expect(eventBatchesSubject('replay', '4')).toBe('event-batches.replay.4');
  });

  it.each([
    ['event-batches.9.catalog.acme', { partition: 9, announcer: 'catalog', integration: 'acme' }],
    ['event-batches.31.replay.4', { partition: 31, announcer: 'replay', integration: '4' }],
    ['event-batches.catalog.acme', undefined],
    ['event-batches.9.catalog.acme.more', undefined],
    ['events.9.catalog.acme', undefined],
  ])('%s names the partition of its message', (subject, read) => {
    expect(readStoredBatchSubject(subject)).toEqual(read);
  });

  it('can be filtered by partition and by integration', () => {
    expect(partitionFilter(9)).toBe('event-batches.9.*.*');
    expect(storedBatches('acme')).toBe(`event-batches.${partitionOf('acme')}.*.acme`);
  });
});
