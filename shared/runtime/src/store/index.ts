// Opens the MongoDB client; no other folder imports the driver. Writes are durable; operations fail when the database goes away.
import { addAbortListener } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient, type Document, type MongoClientOptions } from 'mongodb';
import { ConfigError, maskAddresses } from '../config/index.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing/index.ts';
import { checkAddress, optionsIn, overriddenIn } from './address.ts';
import { isStoreAway } from './database-errors.ts';
import { guarded, openOperate } from './guard.ts';
import { watchHeartbeats } from './mongodb-driver/heartbeats.ts';
import { openIndexBuilds } from './indexes.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export {
  duplicateIndexes,
  isFirst,
  isFound,
  isStoreAway,
  sortStoreError,
  storeFailure,
  withStoreFailures,
} from './database-errors.ts';
export type { NamedIndex } from './indexes.ts';
export { watchIdentity } from './identity.ts';
export { openStoreProof, type StoreProof } from './proof.ts';
export { allOfThem, readInChunks, writeInChunks } from './chunks.ts';
export type { Collection, Document, Filter, FindOptions, UpdateFilter } from 'mongodb';

export interface StoreOptions {
  url: string;
  database: string;
  log: Log;
  /** How many connections operations have; the watchdog has another connection. */
  poolSize?: number;
  /** Aborts the wait for the first answer of the database. */
  signal?: AbortSignal | undefined;
  /** Makes a child span for each database operation that runs within a span. */
  tracing?: Tracing | undefined;
  /** Called for every command of an operation. Without it, the driver does not monitor commands. */
  onCommand?: ((command: SentCommand) => void) | undefined;
}

export interface SentCommand {
  name: string;
  /** The command document as it is sent. */
  command: Document;
}

export type Store = Awaited<ReturnType<typeof openStore>>;

/** Resolves once the database answers; waits without a limit. */
export async function openStore({
  url,
  database: name,
  log,
  poolSize = 16,
  signal,
  tracing,
  onCommand,
}: StoreOptions) {
  await using opening = new AsyncDisposableStack();
  const options = { ...optionsOf(url, poolSize), monitorCommands: onCommand !== undefined };
  const client = opening.adopt(clientOf(url, options), close);
  checkAddress(client);
  if (onCommand !== undefined)
    client.on('commandStarted', ({ commandName, command }) => onCommand({ name: commandName, command }));
  const overridden = overriddenIn(url, options);
  if (overridden.length > 0)
    log.warn({ overridden }, 'options of MONGODB_URL are ignored: this service sets them itself');
  const watcher = opening.adopt(clientOf(url, { ...options, maxPoolSize: 1, socketTimeoutMS: 5_000 }), close);
  // The watchdog's next question, within half a second, connects the closed client again.
  const renew = (deaf: MongoClient): void => {
    log.warn('the MongoDB driver no longer gets answers, connecting again');
    close(deaf).catch((error: unknown) =>
      log.warn({ err: error }, 'the MongoDB driver could not close its connections'),
    );
  };
  let connectionsLost = 0;
  let topology: ReturnType<typeof topologyOf> | undefined;
  const watchdog = opening.use(
    startWatchdog({
      async ask() {
        // `connect` does nothing once connected; after a failed attempt the driver does not retry by itself.
        await Promise.all([client.connect(), watcher.connect()]);
        topology ??= topologyOf(await watcher.db(name).command({ hello: 1 }));
        await watcher.db(name).command({ ping: 1 });
      },
      passing: isStoreAway,
      onLost(operations) {
        connectionsLost += operations;
        if (connectionsLost < poolSize / 2) return;
        connectionsLost = 0;
        renew(client);
      },
      log: log.child({ mongodb: maskAddresses(url) }),
    }),
  );
  // Lost connections show in three ways: a failed operation clears the driver's pool; the driver closes a dead idle connection
  // when it next needs it; or, if the server is back before the next heartbeat, only the watchdog's client connects again.
  client.on('connectionPoolCleared', () => watchdog.connectionsEnded());
  client.on('connectionClosed', ({ reason }) => {
    if (reason === 'error') watchdog.connectionsEnded();
  });
  watcher.on('connectionCreated', () => watchdog.connectionsEnded());
  for (const deaf of [client, watcher]) opening.use(watchHeartbeats(deaf, () => renew(deaf)));
  await answered(watchdog, signal);

  const database = guarded(client.db(name), openOperate(watchdog, tracing));
  const { isSharded, isReplicated } = topology ?? topologyOf({});
  const builds = openIndexBuilds({ database, isReplicated, log });
  const open = opening.move();
  return {
    database,
    /** Whether the database answers, as of at most 2 s ago. */
    get connected(): boolean {
      return watchdog.connected;
    },
    /** Whether a mongos gave the first answer; a filter with the shard key then reaches one shard only. */
    isSharded,
    /** Options of a linearizable read: a document that it does not find did not exist when the read began. */
    finalRead: isReplicated ? linearizable : {},
    collection: <T extends Document>(collection: string) => database.collection<T>(collection),
    ensureIndexes: builds.ensure,
    /** In words, which indexes MongoDB has been building for some seconds. */
    indexesAwaited: () => builds.awaited,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** The socket time-out, after which the driver sends an operation once more: it may arrive two time-outs after its begin. */
const operationMsMax = 60_000;

/** Without `maxTimeMS`, a primary that does not know of its successor never answers. Only a replica set has `linearizable`. */
const linearizable = { readConcern: 'linearizable', maxTimeMS: 2_000 } as const;

function topologyOf({ msg, setName }: Document) {
  const isSharded = msg === 'isdbgrid';
  return { isSharded, isReplicated: isSharded || setName !== undefined };
}

/** Options that override those in MONGODB_URL. */
const optionsOf = (url: string, maxPoolSize: number): MongoClientOptions => ({
  appName: 'integration-sync',
  // An option overrides MONGODB_URL only under the same name, and the driver also knows `journal` as `j`.
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

/** Waits for the first answer. An error that waiting cannot mend, such as a refused password, is a wrong setting. */
async function answered({ firstAnswer }: Watchdog, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using _listening = signal && addAbortListener(signal, () => reject(signal.reason));
  await Promise.race([firstAnswer.catch((error: unknown) => Promise.reject(wrongUrl(error))), aborted]);
}

function wrongUrl(error: unknown): ConfigError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConfigError([`MONGODB_URL: ${reason}`], { cause: error });
}

/** The driver ends its sessions at the server as it closes, which takes long if the server is frozen. */
async function close(client: MongoClient): Promise<void> {
  await Promise.race([client.close(), wait(2_000, undefined, { ref: false })]);
}
