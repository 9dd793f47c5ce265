// Writing and reading much at once. Turning hundreds of documents into bytes, or bytes into them, takes milliseconds, so
// it gives way now and then.
import type { BulkWriteResult, Collection, Document, FindCursor, UnorderedBulkOperation } from 'mongodb';
import { inChunks, nextChunkItems, nextTurn } from '../pace.ts';
import { decode } from './mongodb-driver/decode.ts';

/** One unordered write, as `bulkWrite` would make it; `confirm` is asked right before it is sent, and may throw. */
export async function writeInChunks<T extends Document, One>(
  collection: Collection<T>,
  all: readonly One[],
  confirm: () => Promise<void>,
  add: (bulk: UnorderedBulkOperation, one: One) => void,
): Promise<BulkWriteResult> {
  // The driver turns each into bytes when it is added.
  const bulk = collection.initializeUnorderedBulkOp();
  await inChunks(all, (one) => add(bulk, one));
  await confirm();
  return bulk.execute();
}

/** All that is found by a cursor of `raw` documents, where the database answers with all of it at once. */
export async function readInChunks<Found>(
  cursor: FindCursor<unknown>,
  read: (document: Document) => Found,
): Promise<Found[]> {
  const found: Found[] = [];
  if (!(await cursor.hasNext())) return found;
  for (;;) {
    for (const bytes of cursor.readBufferedDocuments(nextChunkItems())) {
      if (!(bytes instanceof Uint8Array)) throw new TypeError('only raw documents are read in chunks');
      found.push(read(decode(bytes)));
    }
    if (cursor.bufferedCount() === 0) return found;
    await nextTurn();
  }
}
