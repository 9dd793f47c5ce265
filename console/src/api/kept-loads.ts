// Where the browser keeps loads of files: in IndexedDB, by integration.
export const database = 'integration-sync';
export const stores = ['loads', 'pieces', 'history'] as const;

export const piecesOf = (integration: string, log?: string): IDBKeyRange => {
  const key = log === undefined ? [integration] : [integration, log];
  return IDBKeyRange.bound(key, [...key, []]);
};

/** The name of the Web Lock of the tab that loads files of an integration. */
export const lockOf = (integration: string): string => `load of ${integration}`;

/**
 * Forgets the loads of one integration: the loads of other integrations in this browser stay, as does a load that another tab
 * carries out, because its rejected rows are kept here alone. `isOwn` says that this tab has carried out a load until now.
 */
export function forgetLoads(integration: string, isOwn: boolean): void {
  const { locks }: { locks?: LockManager } = navigator;
  if (isOwn || locks === undefined) forget(integration);
  else void locks.request(lockOf(integration), { ifAvailable: true }, (lock) => lock && forget(integration));
}

function forget(integration: string): void {
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
