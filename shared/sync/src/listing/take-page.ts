// Cuts a page to `limit` entities and to the bytes that an answer may have: 4 MiB, or less if NATS takes less.
import { limits } from '@integration-sync/contracts';
import type { Engine } from '../engine.ts';

/** Bytes of the NATS message that are kept for everything but the entities. */
const besidesBytes = 64 * 1024;

export const bytesMaxOf = ({ bus }: Engine): number =>
  Math.min(limits.detailsBytesMax, bus.maxPayloadBytes - besidesBytes);

/**
 * `found` has one document more than `limit` if there is a next page, and is read only as far as needed. Resolves with each
 * entity as JSON, and with the last document if there is a next page. An entity larger than `bytesMax` is alone on its page.
 */
export async function takePage<Document>(
  found: AsyncIterable<Document> | Iterable<Document>,
  { limit, bytesMax }: { limit: number; bytesMax: number },
  entityOf: (document: Document) => unknown,
): Promise<{ entities: string[]; last: Document | undefined }> {
  const entities: string[] = [];
  let bytes = 0;
  let last: Document | undefined;
  for await (const document of found) {
    const entity = entities.length < limit ? JSON.stringify(entityOf(document)) : '';
    bytes += Buffer.byteLength(entity);
    if (entities.length > 0 && (entities.length === limit || bytes > bytesMax)) return { entities, last };
    entities.push(entity);
    last = document;
  }
  return { entities, last: undefined };
}
