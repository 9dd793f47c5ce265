// Ensures the indexes that the code defines, by every replica, at its start or at the first use. An existing index is never
// changed.
import { MongoServerError, type Collection, type Document, type IndexDescription } from 'mongodb';

/** Every index has a name, so that a changed definition is an error and builds no second index. */
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
  // A listed index may still be building for another replica; `createIndexes` resolves once it is built.
  await collection.createIndexes([...indexes]);
}

/** Empty for a collection that does not exist yet: its first index creates the collection. */
async function listIndexes<T extends Document>(collection: Collection<T>): Promise<Document[]> {
  try {
    return await collection.listIndexes().toArray();
  } catch (error) {
    if (error instanceof MongoServerError && error.code === namespaceNotFound) return [];
    throw error;
  }
}

const namespaceNotFound = 26;

/** The properties by which two indexes count as the same. The order of the fields of the key matters. */
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
