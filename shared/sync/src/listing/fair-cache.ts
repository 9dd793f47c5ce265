// A cache with a bound for all entries, and one for the entries of each integration. A full cache drops the least recently used
// entry of the integration whose entries are the largest in sum, so that no integration fills the cache alone.
import { LRUCache } from 'lru-cache';

export interface CacheBounds<Value> {
  /** The bound on the sizes of all entries, added up. */
  max: number;
  /** The bound on the sizes of one integration's entries, added up. A larger entry is not cached. */
  shareMax: number;
  /** The size of an entry, which is 1 or more. */
  sizeOf: (value: Value) => number;
  /** How long an entry is kept after its last use. */
  ttlMs: number;
}

export function openFairCache<Value extends object>({ max, shareMax, sizeOf, ttlMs }: CacheBounds<Value>) {
  const shares = new Map<string, LRUCache<string, Value>>();
  const held = (): number => shares.values().reduce((sum, share) => sum + share.calculatedSize, 0);

  const newShare = (): LRUCache<string, Value> =>
    new LRUCache({ maxSize: shareMax, sizeCalculation: sizeOf, ttl: ttlMs, updateAgeOnGet: true });

  const giveUpOne = (): void => {
    const [integration, share] = [...shares].reduce((one, other) =>
      other[1].calculatedSize > one[1].calculatedSize ? other : one,
    );
    share.pop();
    if (share.size === 0) shares.delete(integration);
  };

  return {
    get: (integration: string, key: string): Value | undefined => shares.get(integration)?.get(key),
    set(integration: string, key: string, value: Value): void {
      shares.getOrInsertComputed(integration, newShare).set(key, value);
      while (held() > max) giveUpOne();
    },
    held,
  };
}
