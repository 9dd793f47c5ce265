// Where the browser keeps loads of files: in IndexedDB, by integration.
export const database = 'integration-sync';
export const stores = ['loads', 'pieces', 'history'] as const;

export const piecesOf = (integration: string, log?: string): IDBKeyRange => {
  const key = log === undefined ? [integration] : [integration, log];
  return IDBKeyRange.bound(key, [...key, []]);
};

/** Forgets the loads of one integration: the loads of other integrations in this browser stay. */
export function forgetLoads(integration: string): void {
  const opening = indexedDB.open(database);
  // `upgradeneeded` comes only if this browser has no such database: the abort keeps `open` from creating it.
  opening.addEventListener('upgradeneeded', () => opening.transaction?.abort());
  opening.addEventListener('success', () => {
    const transaction = opening.result.transaction(stores, 'readwrite');
    for (const store of stores)
      transaction.objectStore(store).delete(store === 'pieces' ? piecesOf(integration) : integration);
    transaction.addEventListener('complete', () => opening.result.close());
  });
}
