// The door to MongoDB, and the only room that knows its driver. Writes through it are durable, its indexes
// are ensured, and its errors come sorted. What is stored is its callers' business.
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient, MongoParseError, type Collection, type Db, type Document } from 'mongodb';
import { ConfigError } from '../config.ts';
import { redactUrl, type Log } from '../log.ts';
import { ensureIndexes, type NamedIndex } from './indexes.ts';

export { duplicateIndexes, sortStoreError, storeFailure, type StoreErrorKind } from './errors.ts';
export type { NamedIndex } from './indexes.ts';
export type {
  AnyBulkWriteOperation,
  Collection,
  Db,
  Document,
  Filter,
  FindOptions,
  IndexDescription,
  OptionalUnlessRequiredId,
  UpdateFilter,
  WithId,
} from 'mongodb';

export interface StoreOptions {
  url: string;
  database: string;
  log: Log;
  /** Connections of this process at most. */
  poolSize?: number;
  /** Ends the wait for a database that does not come. */
  signal?: AbortSignal;
}

export interface Store extends AsyncDisposable {
  readonly database: Db;
  /** Whether the database answered when it was last asked. */
  readonly connected: boolean;
  collection<T extends Document>(name: string): Collection<T>;
  ensureIndexes(name: string, indexes: readonly NamedIndex[]): Promise<void>;
  /** Asks the database itself; rejects while it is away. */
  ping(): Promise<void>;
}

/** Resolves once the database answers, however long that takes. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { url, database: name, log, poolSize = 32, signal } = options;
  const client = clientOf(url, poolSize);
  await connected(client, log, redactUrl(url), signal);
  let up = true;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    up = [...newDescription.servers.values()].some((server) => server.isWritable);
  });
  const database = client.db(name);
  return {
    database,
    get connected() {
      return up;
    },
    collection: (collection) => database.collection(collection),
    ensureIndexes: (collection, indexes) => ensureIndexes(database.collection(collection), indexes),
    async ping() {
      await database.command({ ping: 1 });
    },
    async [Symbol.asyncDispose]() {
      await client.close();
    },
  };
}

function clientOf(url: string, maxPoolSize: number): MongoClient {
  try {
    return new MongoClient(url, {
      appName: 'integration-sync',
      maxPoolSize,
      writeConcern: { w: 'majority', journal: true },
      serverSelectionTimeoutMS: 2_000,
      connectTimeoutMS: 2_000,
      socketTimeoutMS: 30_000,
      heartbeatFrequencyMS: 1_000,
    });
  } catch (error) {
    if (error instanceof MongoParseError) throw new ConfigError([`MONGODB_URL: ${redactUrl(error.message)}`]);
    throw error;
  }
}

async function connected(client: MongoClient, log: Log, url: string, signal?: AbortSignal): Promise<void> {
  for (let attempt = 1, saidAt = -Infinity; ; attempt += 1) {
    try {
      await client.connect();
      return;
    } catch (error) {
      if (performance.now() - saidAt >= 5_000) {
        saidAt = performance.now();
        log.warn({ url, reason: String(error) }, 'waiting for MongoDB');
      }
    }
    await wait(Math.min(100 * attempt, 1_000), undefined, signal ? { signal } : {});
  }
}
