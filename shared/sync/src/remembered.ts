// Ids about which something is true for ever, as many as fit; the one that was not asked for longest goes first.
export interface RememberedIds {
  has(id: string): boolean;
  add(id: string): void;
  forget(id: string): void;
}

export function rememberIds(countMax: number): RememberedIds {
  const ids = new Set<string>();
  return {
    has(id) {
      if (!ids.delete(id)) return false;
      ids.add(id);
      return true;
    },
    forget(id) {
      ids.delete(id);
    },
    add(id) {
      ids.add(id);
      if (ids.size <= countMax) return;
      for (const oldest of ids) {
        ids.delete(oldest);
        return;
      }
    },
  };
}
