// Reads from a page of a listing what goes into the ledger.
import type { ListingEntity } from '@integration-sync/contracts';
import type { Sighting } from './lines.ts';

export function sightingsOf(body: string): Sighting[] {
  const { entities }: { entities: ListingEntity[] } = JSON.parse(body);
  return entities.map(({ externalId, name, internalId, lastSyncedAt }) => [
    externalId,
    name,
    internalId,
    lastSyncedAt,
  ]);
}
