// Mirrors: copies of all records of an integration, kept by listings with `changedSince`.
import type { Listing, ListingEntity, RecordDetails } from '@integration-sync/contracts';
import type { BusReply } from '@integration-sync/runtime/bus';

/** The fields of a record, and its `syncStatus` unless it is SYNCED. */
export type Fields = Readonly<Record<string, unknown>>;
/** Records by internal id. */
export type Records = ReadonlyMap<string, Fields>;

export interface Mirror {
  readonly name: string;
  /** How many records a page has. */
  readonly limit: number;
  /** Stays true once a walk has failed. */
  isWalking: boolean;
  /** `X-Next-Since` of the last walk. */
  since?: string | undefined;
  records: Records;
  readonly walks: { begunAt: number; endedAt: number; records: Records }[];
}

export const openMirror = (name: string, limit: number): Mirror => ({
  name,
  limit,
  isWalking: false,
  records: new Map(),
  walks: [],
});

/** Reads all pages of what has changed since the last walk. */
export async function walk(
  mirror: Mirror,
  list: (query: string) => Promise<BusReply>,
  tick: () => number,
): Promise<void> {
  mirror.isWalking = true;
  const begunAt = tick();
  const records = new Map(mirror.records);
  const { limit, since } = mirror;
  let query = since === undefined ? '' : `changedSince=${encodeURIComponent(since)}`;
  for (let isNext = true; isNext;) {
    const { headers = {}, body } = await list(`${query}&details=true&limit=${limit}`);
    const page: Listing<ListingEntity & { details: RecordDetails }> = JSON.parse(String(body));
    for (const { internalId, syncStatus, details } of page.entities)
      records.set(internalId, { ...details.fields, ...(syncStatus === 'SYNCED' ? {} : { syncStatus }) });
    mirror.since = headers['x-next-since'];
    query = /\?([^>]+)>/.exec(headers['link'] ?? '')?.[1] ?? '';
    isNext = query !== '';
  }
  mirror.records = records;
  mirror.walks.push({ begunAt, endedAt: tick(), records });
  mirror.isWalking = false;
}
