import { describe, expect, it } from 'vitest';
import {
  derivedId,
  internalIdOf,
  isCreatedBy,
  newSyncId,
  orderOf,
  packIds,
  unpackIds,
} from '../../../shared/sync/src/ids.ts';

describe('an internal id', () => {
  it('is stable', () => {
    expect(internalIdOf('sup', 'acme', 'SUP-001')).toBe('sup_4a792022d567928acb3bad4271a5836a');
  });

  it('differs where the integration, the kind or the externalId differs, case included', () => {
    const ids = [
      internalIdOf('sup', 'acme', 'SUP-001'),
      internalIdOf('prd', 'acme', 'SUP-001'),
      internalIdOf('sup', 'acm', 'eSUP-001'),
      internalIdOf('sup', 'Acme', 'SUP-001'),
      internalIdOf('sup', 'acme', 'sup-001'),
      internalIdOf('sup', 'acme', 'SUP-001 '),
      derivedId('dds', internalIdOf('sup', 'acme', 'SUP-001')),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^(sup|prd|dds)_[0-9a-f]{32}$/);
  });

  it('can be packed into bytes without its prefix', () => {
    const ids = ['a', 'b', 'c'].map((externalId) => internalIdOf('sup', 'acme', externalId));
    expect(packIds(ids)).toHaveLength(48);
    expect(unpackIds('sup', packIds(ids))).toEqual(ids);
    expect(unpackIds('sup', packIds([]))).toEqual([]);
  });
});

describe('a sync id', () => {
  it('sorts by time', () => {
    const times = [0, 1, 255, 256, 1_795_285_463_674, 2 ** 47];
    const ids = times.map((time) => newSyncId(new Date(time)));
    expect(ids.toSorted()).toEqual(ids);
    for (const id of ids) expect(id).toMatch(/^sync_[0-9a-f]{32}$/);
  });

  it('is unique for pushes of one millisecond', () => {
    const ids = Array.from({ length: 1_000 }, () => newSyncId(new Date(0)));
    expect(new Set(ids).size).toBe(1_000);
  });
});

it('a sync id is part of the sort keys of new records, and can be read from them', () => {
  const syncId = newSyncId(new Date(1));
  const orders = [0, 9, 10, 99, 100, 499].map((place) => orderOf(syncId, place));
  expect(orders.toSorted()).toEqual(orders);
  expect(orders.every((order) => isCreatedBy(order, syncId))).toBe(true);
  expect(isCreatedBy(orderOf(newSyncId(new Date(1)), 0), syncId)).toBe(false);
});
