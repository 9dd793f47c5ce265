import { describe, expect, it } from 'vitest';
import { filtersByIds } from '../../../shared/sync/src/records/by-ids.ts';

describe('a filter by ids', () => {
  it('names the integration where a mongos has to find the shard', () => {
    const { one, these } = filtersByIds({ isSharded: true });
    expect(one('acme', 'sup_1')).toEqual({ _id: 'sup_1', integration: 'acme' });
    expect(these('acme', ['sup_1', 'sup_2'])).toEqual({
      _id: { $in: ['sup_1', 'sup_2'] },
      integration: 'acme',
    });
  });

  it('names only the ids on an engine without shards, where another field would make MongoDB read each document', () => {
    const { one, these } = filtersByIds({ isSharded: false });
    expect(one('acme', 'sup_1')).toEqual({ _id: 'sup_1' });
    expect(these('acme', ['sup_1'])).toEqual({ _id: { $in: ['sup_1'] } });
  });
});
