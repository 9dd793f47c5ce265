// Ensures the indexes that the code defines, by every replica. An existing index is never changed.
import { MongoServerError, type Collection, type Db, type Document, type IndexDescription } from 'mongodb';
import type { Log } from '../log.ts';

/** Every index has a name, so that a changed definition is an error and builds no second index. */
export type NamedIndex = IndexDescription & { name: string };

interface IndexBuildsOptions {
  database: Pick<Db, 'collection'>;
  isReplicated: boolean;
  log: Log;
}

const sayEveryMs = 3_000;

/** Without `commitQuorum`, a member that is down would keep a new release from starting. Only a replica set has this option. */
const ofMajority = { commitQuorum: 'majority' } as const;
/** Building an index of a large collection outlasts the driver's socket time-out, after which the driver would begin again. */
const unbounded = { socketTimeoutMS: 0 };

export function openIndexBuilds({ database, isReplicated, log }: IndexBuildsOptions) {
  const awaited = new Set<string>();
  const options = { ...unbounded, ...(isReplicated ? ofMajority : {}) };

  const build = async (name: string, indexes: readonly NamedIndex[]): Promise<void> => {
    const beganAt = performance.now();
    const timer = setInterval(() => {
      awaited.add(name);
      const forMs = Math.round(performance.now() - beganAt);
      log.warn({ collection: name, forMs }, 'waiting for MongoDB to build indexes');
    }, sayEveryMs);
    try {
      // A listed index may still be building for another replica; `createIndexes` resolves once it is built.
      await database.collection(name).createIndexes([...indexes], options);
    } finally {
      clearInterval(timer);
      awaited.delete(name);
    }
  };

  return {
    /** Creates missing indexes. An existing index of the same name must be the same. */
    ensure: async (name: string, indexes: readonly NamedIndex[]): Promise<void> => {
      const collection = database.collection(name);
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
      await build(name, indexes);
    },
    get awaited(): string | undefined {
      return awaited.size === 0 ? undefined : `MongoDB builds indexes of ${[...awaited].join(', ')}`;
    },
  };
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
