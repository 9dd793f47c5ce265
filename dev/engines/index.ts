// Exports of the engines: real MongoDB and real NATS on any machine, restarted when they die, until the caller disposes of them.
// `choice.ts` says which sources are tried, `mongodb.ts` and `nats.ts` how each source gets them.
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { endLeftovers, isLeftOpen, openLedger, type Ledger } from '../process/ledger.ts';
import { startTogether } from '../process/in-turn.ts';
import { lockOwner, takeLock } from '../process/lock.ts';
import { cacheFolder } from './cache.ts';
import { parseForced, type Forced } from './choice.ts';
import { NoEngine, type Engine, type EngineName } from './engine.ts';
import type { Environment } from './environment.ts';
import { openMemory } from './memory.ts';
import { mongodbRows } from './mongodb.ts';
import { natsRows } from './nats.ts';
import { openProgress } from './progress.ts';
import { takeFirstThatServes, type Setting } from './table.ts';

export { NoEngine, type Engine, type EngineName, type Source } from './engine.ts';
export type { Forced } from './choice.ts';

export interface EnginesOptions {
  /** The folder of the engines' data. Engines that run side by side need two folders. */
  dataFolder: string;
  logFolder?: string;
  /** Called with each line of the progress. */
  say?: (line: string) => void;
  /** The only source to try, as ENGINES in the environment names one. */
  force?: Forced | undefined;
  /** MONGODB_URL, NATS_URL, ENGINES, MONGODB_IMAGE, NATS_IMAGE, XDG_CACHE_HOME. The environment of this process by default. */
  environment?: Environment;
  /** The configuration file of nats-server, without its addresses. NATS_STORE_DIR has the folder of its store. */
  natsConfig?: string;
  /** Called when a process of an engine has started or ended. */
  onChange?: () => void;
  /** Whether the engines begin without data. */
  fresh?: boolean;
  /** Whether a stop removes the engines' data. */
  temporary?: boolean;
  /** Aborts a start that is under way. */
  signal?: AbortSignal | undefined;
}

export interface Engines extends AsyncDisposable {
  readonly mongodb: Engine;
  readonly nats: Engine;
}

const rows = { mongodb: mongodbRows, nats: natsRows };

export async function startEngines(options: EnginesOptions): Promise<Engines> {
  await using started = new AsyncDisposableStack();
  const [mongodb, nats] = await startSeveral(['mongodb', 'nats'], options, started);
  if (mongodb === undefined || nats === undefined)
    throw new TypeError('startSeveral gave no engine for MongoDB or for NATS');
  const release = started.move();
  return { mongodb, nats, [Symbol.asyncDispose]: () => release.disposeAsync() };
}

/** One engine alone, for callers that need a NATS or a MongoDB of their own. */
export async function startEngine(name: EngineName, options: EnginesOptions): Promise<Engine> {
  await using started = new AsyncDisposableStack();
  const [engine] = await startSeveral([name], options, started);
  if (engine === undefined) throw new TypeError(`startSeveral gave no engine for ${name}`);
  const release = started.move();
  return { ...engine, [Symbol.asyncDispose]: () => release.disposeAsync() };
}

/** Starts all engines concurrently. If an engine cannot start, the other engines are stopped. */
async function startSeveral(
  names: readonly EngineName[],
  options: EnginesOptions,
  started: AsyncDisposableStack,
): Promise<Engine[]> {
  const { environment = process.env, fresh = false, temporary = false, signal } = options;
  const folder = resolve(options.dataFolder);
  const forced = options.force ?? parseForced(environment['ENGINES']);
  const ledger = await openFolder(folder, { fresh, temporary, say: options.say }, started);
  const progress = started.use(openProgress(options.say ?? (() => undefined)));
  const engines: Engine[] = [];
  started.defer(async () => {
    await Promise.all(engines.map((engine) => engine[Symbol.asyncDispose]()));
  });
  const shared: Omit<Setting, 'name' | 'cache'> = {
    environment,
    folder,
    forced,
    temporary,
    natsConfig: options.natsConfig,
    onChange: options.onChange ?? (() => undefined),
    ledger,
    logFolder: options.logFolder ?? join(folder, 'logs'),
    lastServed: openMemory(cacheFolder(environment)),
    madeData: openMemory(folder),
  };
  return startTogether(signal === undefined ? [] : [signal], (stopping) => {
    const cache = { folder: cacheFolder(environment), progress, signal: stopping };
    return names.map(async (name) => {
      const engine = await takeFirstThatServes(rows[name], { ...shared, cache, name });
      engines.push(engine);
      return engine;
    });
  });
}

/** Waits until an earlier starter of engines and its processes have left the folder; then this process alone uses the folder. */
async function openFolder(
  folder: string,
  { fresh, temporary, say }: { fresh: boolean; temporary: boolean; say: EnginesOptions['say'] },
  started: AsyncDisposableStack,
): Promise<Ledger> {
  const lock = takeLock(join(folder, lockName));
  if (lock === undefined) {
    throw new NoEngine(
      `the engines of ${folder} are run by process ${lockOwner(join(folder, lockName)) ?? '?'} already`,
    );
  }
  started.use(lock);
  const path = join(folder, ledgerName);
  const ended = await endLeftovers(path);
  if (ended.length > 0) say?.(`ended what a killed start left behind: ${ended.join(', ')}`);
  if (fresh) await clear(folder);
  if (temporary) started.defer(() => rm(folder, { recursive: true, force: true }));
  const ledger = openLedger(path);
  started.defer(() => ledger.close());
  return ledger;
}

/**
 * Ends the processes and removes the temporary folders of killed runs: folders in `parent` whose name begins with `prefix` and
 * whose starter is gone. The folder of a cluster has a folder for each node.
 */
export async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const entry of await readdir(parent, { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const folder = join(parent, entry.name);
    // A folder without a lock is new, and its starter is about to lock it.
    const locked = (await withFoldersIn(folder)).filter((one) => existsSync(join(one, lockName)));
    using locks = new DisposableStack();
    const lives = locked.map((one) => locks.use(takeLock(join(one, lockName)))).includes(undefined);
    // The folder of engines that were stopped properly stays: the process that started them may be about to start them again.
    if (lives || !locked.some((one) => isLeftOpen(join(one, ledgerName)))) continue;
    for (const one of locked) await endLeftovers(join(one, ledgerName));
    await rm(folder, { recursive: true, force: true });
  }
}

async function withFoldersIn(folder: string): Promise<string[]> {
  // A folder may be removed by its owner meanwhile.
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return [folder, ...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))];
}

const lockName = 'engines.lock';
const ledgerName = 'engines.json';

/** Removes all files of the folder but the lock, which this process holds. */
async function clear(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (!entry.startsWith(lockName)) await rm(join(folder, entry), { recursive: true, force: true });
  }
}
