// The records that the last full load of a kind did not name.
import { platform } from '#platform';
import type { RecordClient, Kind } from '@integration-sync/client';
import { count } from '../count.ts';

export interface Found {
  kind: Kind;
  ids: string[];
  /** How many records the service has, without those that were archived or erased before the load. */
  total: number;
}

/**
 * Finds records that the load did not name: a load raises `lastSyncedAt` of each record that it names, so these have an older
 * time.
 */
export async function find(
  client: RecordClient,
  kind: Kind,
  { mark, rejectedIds }: { mark: string; rejectedIds: readonly string[] },
): Promise<Found> {
  const rejected = new Set(rejectedIds);
  const ids: string[] = [];
  let goneBefore = 0;
  for await (const { externalId, syncStatus } of client.list(kind, { until: mark })) {
    if (syncStatus !== 'SYNCED') goneBefore += 1;
    else if (!rejected.has(externalId)) ids.push(externalId);
  }
  const { value } = await client.pages(kind, { limit: 1 }).next();
  return { kind, ids, total: value === undefined ? 0 : value.total - goneBefore };
}

export const tooMany = (gone: number, total: number, most: number): boolean => gone * 100 > total * most;

export const refusal = (kind: Kind, gone: number, total: number, most: number): string =>
  `${kind}: ${count(gone)} of ${count(total)} records were not in the last load, more than ${most} %. Had it all rows? ${platform.advice.most} ${Math.ceil((gone * 100) / Math.max(total, 1))} lets them go.`;
