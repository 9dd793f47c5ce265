// The door to MongoDB, and the only room that knows its driver. Writes through it are durable, operations end
// when the database goes away, indexes are ensured, and errors come sorted. What is stored is the callers'.
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient, type Collection, type Db, type Document, type MongoClientOptions } from 'mongodb';
import { ConfigError } from '../config/index.ts';
import { redactUrl, type Log } from '../log.ts';
import type { Tracing } from '../tracing/index.ts';
import { checkAddress, optionsIn, overriddenIn } from './address.ts';
import { sortStoreError } from './errors.ts';
import { guarded, openOperate } from './guard.ts';
import { watchHeartbeats } from './mongodb-driver/heartbeats.ts';
import { ensureIndexes, type NamedIndex } from './indexes.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export { duplicateIndexes, isFirst, sortStoreError, storeFailure, type StoreErrorKind } from './errors.ts';
export type { NamedIndex } from './indexes.ts';
export { readInChunks, writeInChunks } from './chunks.ts';
export type {
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
  /** Connections for operations; one more serves to notice that the database is away. */
  poolSize?: number;
  /** Ends the wait for a database that does not come. */
  signal?: AbortSignal | undefined;
  /** What a traced step asks the database is a step of its own. */
  tracing?: Tracing | undefined;
  /** Is told of every command that is sent for an operation. The driver keeps count of them only where this is given. */
  onCommand?: ((command: SentCommand) => void) | undefined;
}

export interface SentCommand {
  /** `find`, `update`. */
  name: string;
  /** As it is sent. */
  command: Document;
}

export interface Store extends AsyncDisposable {
  readonly database: Db;
  /** Whether the database answers: known at any moment, and at most 2 s old. */
  readonly connected: boolean;
  /** Whether a mongos gave the first answer: it passes each command on to the shards that the command names. */
  readonly isSharded: boolean;
  collection<T extends Document>(name: string): Collection<T>;
  /** Creates what is missing. An index that is there under the same name must be the same. */
  ensureIndexes(name: string, indexes: readonly NamedIndex[]): Promise<void>;
  /** Asks the database itself; rejects while it is away. */
  ping(): Promise<void>;
}

/** Resolves once the database answers, however long that takes. */
export async function openStore({
  url,
  database: name,
  log,
  poolSize = 16,
  signal,
  tracing,
  onCommand,
}: StoreOptions): Promise<Store> {
  await using opening = new AsyncDisposableStack();
  const options = optionsOf(url, poolSize);
  const monitorCommands = onCommand !== undefined;
  const client = opening.adopt(clientOf(url, { ...options, monitorCommands }), close);
  checkAddress(client);
  if (onCommand !== undefined)
    client.on('commandStarted', ({ commandName, command }) => onCommand({ name: commandName, command }));
  const overridden = overriddenIn(url, options);
  if (overridden.length > 0) log.warn({ overridden }, 'options of MONGODB_URL do not hold here');
  const watcher = opening.adopt(clientOf(url, { ...options, maxPoolSize: 1, socketTimeoutMS: 5_000 }), close);
  // The watchdog connects it again within half a second, or says that it cannot.
  const renew = (deaf: MongoClient): void => {
    log.warn('the MongoDB driver hears nothing any more, connecting again');
    close(deaf).catch((error: unknown) => log.warn({ err: error }, 'the MongoDB driver did not close'));
  };
  let connectionsLost = 0;
  let isSharded: boolean | undefined;
  const watchdog = opening.use(
    startWatchdog({
      async ask() {
        // A no-op once connected; after a failed attempt the driver wants to be told again.
        await Promise.all([client.connect(), watcher.connect()]);
        isSharded ??= (await watcher.db(name).command({ hello: 1 }))['msg'] === 'isdbgrid';
        await watcher.db(name).command({ ping: 1 });
      },
      passing: (error) => sortStoreError(error) === 'unavailable',
      onLost(operations) {
        connectionsLost += operations;
        if (connectionsLost < poolSize / 2) return;
        connectionsLost = 0;
        renew(client);
      },
      log: log.child({ mongodb: redactUrl(url) }),
    }),
  );
  // Connections end in three ways. An operation that fails with its own clears the driver's pool. Of idle ones the driver
  // notices one when it comes to use it, or none, where the server is back before the driver asks how it is; the watcher,
  // which asks all the time, needs a new connection then.
  client.on('connectionPoolCleared', () => watchdog.connectionsEnded());
  client.on('connectionClosed', ({ reason }) => {
    if (reason === 'error') watchdog.connectionsEnded();
  });
  watcher.on('connectionCreated', () => watchdog.connectionsEnded());
  for (const deaf of [client, watcher]) opening.use(watchHeartbeats(deaf, () => renew(deaf)));
  await answered(watchdog, signal);

  const database = guarded(client.db(name), openOperate(watchdog, tracing));
  const open = opening.move();
  return {
    database,
    get connected() {
      return watchdog.connected;
    },
    isSharded: isSharded === true,
    collection: (collection) => database.collection(collection),
    ensureIndexes: (collection, indexes) => ensureIndexes(database.collection(collection), indexes),
    async ping() {
      await database.command({ ping: 1 });
    },
    [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
  };
}

/** The last resort, for an operation that a living server does not finish. */
const operationMsMax = 120_000;

/** What holds whatever the address says. */
const optionsOf = (url: string, maxPoolSize: number): MongoClientOptions => ({
  appName: 'integration-sync',
  // Each by its own name: only so does it win over the address. The driver knows `journal` by an older name too.
  w: 'majority',
  journal: true,
  ...(optionsIn(url).has('j') ? { j: true } : {}),
  serverSelectionTimeoutMS: 2_000,
  connectTimeoutMS: 2_000,
  heartbeatFrequencyMS: 1_000,
  socketTimeoutMS: operationMsMax,
  waitQueueTimeoutMS: 10_000,
  maxPoolSize,
});

function clientOf(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch (error) {
    throw wrongUrl(error);
  }
}

/** Waits for the first answer; what waiting cannot mend, such as a refused password, is a wrong setting. */
async function answered({ firstAnswer }: Watchdog, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    await Promise.race([firstAnswer.catch((error: unknown) => Promise.reject(wrongUrl(error))), aborted]);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function wrongUrl(error: unknown): ConfigError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConfigError([`MONGODB_URL: ${reason}`], { cause: error });
}

/** The driver says goodbye to the server, which takes long where the server stands still. */
async function close(client: MongoClient): Promise<void> {
  await Promise.race([client.close(), wait(2_000, undefined, { ref: false })]);
}
