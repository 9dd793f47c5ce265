// Ids about which something is true, for ever or for some time, as many as fit; the one that was not asked for longest goes
// first.
export interface IdCache {
  has(id: string): boolean;
  /** True since then; a time of `performance.now()`. */
  add(id: string, sinceMs?: number): void;
  forget(id: string): void;
}

export function openIdCache(countMax: number, forMs = Infinity): IdCache {
  const untilById = new Map<string, number>();
  return {
    has(id) {
      const until = untilById.get(id);
      if (until === undefined) return false;
      untilById.delete(id);
      if (until < Infinity && performance.now() > until) return false;
      untilById.set(id, until);
      return true;
    },
    forget(id) {
      untilById.delete(id);
    },
    add(id, sinceMs = 0) {
      untilById.delete(id);
      untilById.set(id, sinceMs + forMs);
      if (untilById.size <= countMax) return;
      for (const oldest of untilById.keys()) {
        untilById.delete(oldest);
        return;
      }
    },
  };
}
