// Writes and reads hundreds of documents, and yields to the event loop after each chunk.
import type { BulkWriteResult, Collection, Document, FindCursor, UnorderedBulkOperation } from 'mongodb';
import { inChunks, nextChunkItems, nextTurn } from '../pace.ts';
import { decode } from './mongodb-driver/decode.ts';

/** One unordered bulk write. `confirm` runs right before the write is sent, and may throw to prevent it. */
export async function writeInChunks<T extends Document, One>(
  collection: Collection<T>,
  all: readonly One[],
  confirm: () => Promise<void>,
  add: (bulk: UnorderedBulkOperation, one: One) => void,
): Promise<BulkWriteResult> {
  // The driver encodes each operation as it is added.
  const bulk = collection.initializeUnorderedBulkOp();
  await inChunks(all, (one) => add(bulk, one));
  await confirm();
  return bulk.execute();
}

/** For reads of up to 16 MB: one round trip, because all documents are in one batch; a default batch has a hundred. */
export const allOfThem = (count: number) => ({ batchSize: count + 1, singleBatch: true });

/** Reads all documents of a `raw` cursor, which come in several batches if they are larger than 16 MB together. */
export async function readInChunks<Found>(
  cursor: FindCursor<unknown>,
  read: (document: Document) => Found,
): Promise<Found[]> {
  const found: Found[] = [];
  if (!(await cursor.hasNext())) return found;
  for (;;) {
    for (const bytes of cursor.readBufferedDocuments(nextChunkItems())) {
      if (!(bytes instanceof Uint8Array))
        throw new TypeError('the cursor must return raw documents, not decoded documents');
      found.push(read(decode(bytes)));
    }
    if (cursor.bufferedCount() === 0 && !(await cursor.hasNext())) return found;
    await nextTurn();
  }
}
