// Indexes are part of the code: ensured by every replica, at its start or when first one is needed, and never changed behind
// anybody's back.
import { MongoServerError, type Collection, type Document, type IndexDescription } from 'mongodb';

/** Every index has a name, so that a changed one is noticed instead of built beside the old one. */
export type NamedIndex = IndexDescription & { name: string };

export async function ensureIndexes<T extends Document>(
  collection: Collection<T>,
  indexes: readonly NamedIndex[],
): Promise<void> {
  const present = new Map((await listIndexes(collection)).map((index) => [index.name, index]));
  for (const index of indexes) {
    const stored = present.get(index.name);
    if (stored !== undefined && identity(stored) !== identity(index)) {
      throw new Error(
        `The index ${index.name} of ${collection.namespace} is ${identity(stored)} in the database, but ` +
          `${identity(index)} in this release. Drop it there, or give the new one another name.`,
      );
    }
  }
  // One that is listed may still be in the making elsewhere; the database then answers when it is done.
  await collection.createIndexes([...indexes]);
}

/** None where the collection is not there yet: its first index creates it. */
async function listIndexes<T extends Document>(collection: Collection<T>): Promise<Document[]> {
  try {
    return await collection.listIndexes().toArray();
  } catch (error) {
    if (error instanceof MongoServerError && error.code === namespaceNotFound) return [];
    throw error;
  }
}

const namespaceNotFound = 26;

/** Everything that makes two indexes of one name the same, in the order that matters for the key. */
function identity(index: Document): string {
  const key = index['key'] instanceof Map ? Object.fromEntries(index['key']) : index['key'];
  const { unique, sparse, expireAfterSeconds, partialFilterExpression } = index;
  return JSON.stringify({
    key,
    ...(unique ? { unique } : {}),
    ...(sparse ? { sparse } : {}),
    ...(expireAfterSeconds === undefined ? {} : { expireAfterSeconds }),
    ...(partialFilterExpression === undefined ? {} : { partialFilterExpression }),
  });
}
