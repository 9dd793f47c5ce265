// Where the browser keeps loads of files: in IndexedDB, by slot. A slot is the id of an integration, followed by the prefix of the
// service in the URL, such as `/live`, if any.
export const database = 'integration-sync';
export const stores = ['loads', 'pieces', 'history'] as const;

export const piecesOf = (slot: string, log?: string): IDBKeyRange => {
  const key = log === undefined ? [slot] : [slot, log];
  return IDBKeyRange.bound(key, [...key, []]);
};

/** The name of the Web Lock of the tab that loads files of a slot. */
export const lockOf = (slot: string): string => `load of ${slot}`;

/**
 * Forgets the loads of one slot: other loads in this browser stay, as does a load that another tab carries out, because its
 * rejected rows are kept here alone. `isOwn` says that this tab has carried out a load until now.
 */
export function forgetLoads(slot: string, isOwn: boolean): void {
  const { locks }: { locks?: LockManager } = navigator;
  if (isOwn || locks === undefined) forget(slot);
  else void locks.request(lockOf(slot), { ifAvailable: true }, (lock) => lock && forget(slot));
}

function forget(slot: string): void {
  const opening = indexedDB.open(database);
  // `upgradeneeded` comes only if this browser has no such database: the abort keeps `open` from creating it.
  opening.addEventListener('upgradeneeded', () => opening.transaction?.abort());
  opening.addEventListener('success', () => {
    const transaction = opening.result.transaction(stores, 'readwrite');
    for (const store of stores)
      transaction.objectStore(store).delete(store === 'pieces' ? piecesOf(slot) : slot);
    transaction.addEventListener('complete', () => opening.result.close());
  });
}
