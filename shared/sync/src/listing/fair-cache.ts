// A cache that is bounded in all and for each integration. Where it is full, the integration that holds most gives up its least
// recently used entry, so that no integration's walks drive out those of the others.
import { LRUCache } from 'lru-cache';

export interface CacheBounds<Value> {
  /** The size of all entries. */
  max: number;
  /** The size of the entries of one integration; a larger entry is not kept. */
  shareMax: number;
  /** At least 1. */
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
