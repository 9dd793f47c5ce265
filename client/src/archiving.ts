// Archives any number of records, in requests of 500, which is the most that the service takes.
import type { Send } from './call.ts';
import type { Kind } from './kinds.ts';
import type { ArchiveAnswer } from './types.ts';

const idsMax = 500;

export async function archive(
  send: Send,
  kind: Kind,
  externalIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ArchiveAnswer> {
  const all: ArchiveAnswer = { success: true, archived: 0, errors: [], records: [] };
  for (let from = 0; from < externalIds.length; from += idsMax) {
    const body = JSON.stringify({ externalIds: externalIds.slice(from, from + idsMax) });
    const call = { method: 'POST', path: `${kind}/archive`, body, signal };
    const { body: one } = await send<ArchiveAnswer>(call);
    all.success &&= one.success;
    all.archived += one.archived;
    all.errors.push(...one.errors);
    all.records.push(...one.records);
  }
  return all;
}
