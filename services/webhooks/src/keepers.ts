// The keeper of an endpoint is the one replica that looks after what is held for it. There is one from the moment
// something is held until nothing is, over all replicas: whoever holds something makes sure of it afterwards.
//
//   the endpoint is   the keeper
//   ────────────────  ─────────────────────────────────────────────────────────────────────────────────────
//   closed            tries one event at a time, each on its own schedule: the one on trial, else the oldest
//   open              delivers what is held through the endpoint's lane, oldest first, beside the stream
//   disabled, gone    lets go; what is held is missed
//
// It lets go when nothing is held any more, looks once more afterwards, and takes it up again if something came
// meanwhile. When a keeper dies, the others hear it fall silent (roll.ts), and one of them takes over.
import type { Log } from '@integration-sync/runtime/log';
import type { Deliver } from './courier.ts';
import type { Directory, Known } from './directory.ts';
import type { Endpoint, Trial } from './endpoint.ts';
import type { Endpoints } from './endpoints.ts';
import { openFinding } from './finding.ts';
import type { Held, HeldEntry } from './held.ts';
import type { Lanes } from './lanes.ts';
import type { Roll } from './roll.ts';
import { attemptsMax } from './schedule.ts';
import type { Turns } from './turns.ts';

export interface Keepers {
  /** Resolves once somebody keeps the endpoint. */
  ensure(endpointId: string): Promise<void>;
  /** The endpoint has changed. */
  wake(endpointId: string): void;
  /** Any of them may have changed. */
  wakeAll(): void;
  /** Takes over what dead replicas kept. */
  sweep: () => Promise<void>;
  readonly count: number;
  /** Nothing new begins; resolves when all have stopped. What they kept is taken over by others. */
  close(): Promise<void>;
}

export interface KeepersOptions {
  endpoints: Pick<Endpoints, 'findAll' | 'claim' | 'takeOver' | 'letGo' | 'orphans'>;
  held: Held;
  directory: Pick<Directory, 'prepare'>;
  lanes: Pick<Lanes, 'run'>;
  deliver: Deliver;
  roll: Pick<Roll, 'replica' | 'alive'>;
  /** To this replica and all others. */
  tellChanged: (endpointId: string) => void;
  /** For what the database is asked. */
  inTurn: Turns;
  log: Log;
}

/** So many are read from the stream and delivered before they are removed from it. */
const chunkEntries = 64;
/** How long it takes at most to notice what nobody told. */
const napMs = 5_000;
const troubleMs = 500;

interface Keeper {
  /** The endpoint has changed since it was read. */
  changed: boolean;
  /** Something was held for it since it was last looked after. */
  more: boolean;
  nap: { forMore: boolean; end(): void } | undefined;
  done: Promise<void>;
}

export function openKeepers(options: KeepersOptions): Keepers {
  const { held, directory, lanes, deliver, roll, tellChanged, inTurn, log } = options;
  const endpoints = {
    ...options.endpoints,
    find: openFinding(options.endpoints, inTurn),
    claim: (id: string, replica: string) => inTurn(() => options.endpoints.claim(id, replica)),
  };
  const keepers = new Map<string, Keeper>();
  /** Whether they were made this replica's to keep, nobody could say. */
  const unsure = new Set<string>();
  const closing = new AbortController();
  const isClosed = (): boolean => closing.signal.aborted;

  /** Several may find at the same moment that the endpoint is this replica's; it has one keeper all the same. */
  const begin = (id: string): void => {
    if (keepers.has(id) || isClosed()) return;
    const keeper: Keeper = { changed: false, more: false, nap: undefined, done: Promise.resolve() };
    keepers.set(id, keeper);
    keeper.done = keep(id, keeper);
  };

  const keep = async (id: string, keeper: Keeper): Promise<void> => {
    let troubles = 0;
    while (!isClosed()) {
      keeper.changed = false;
      keeper.more = false;
      let isDone = false;
      try {
        isDone = await keepOn(id, keeper);
        troubles = 0;
      } catch (error) {
        if (isClosed()) break;
        // An engine or a proxy that is away is not worth a line per endpoint and try.
        if (troubles % 20 === 0)
          log.warn(
            { err: error, endpoint: id, tries: troubles + 1 },
            'keeping an endpoint failed, trying again',
          );
        await nap(keeper, troubleMs * 2 ** troubles, { forMore: false });
        troubles += 1;
      }
      // Whoever held something for it up to here found a keeper and left it to him.
      if (isDone && !keeper.changed && !keeper.more) break;
    }
    keepers.delete(id);
  };

  /** True when it is no longer this replica's to look after. */
  const keepOn = async (id: string, keeper: Keeper): Promise<boolean> => {
    const endpoint = await endpoints.find(id);
    if (endpoint === null) return true;
    if (endpoint.keeper !== roll.replica) {
      return endpoint.keeper !== undefined || (await endpoints.claim(id, roll.replica)) === null;
    }
    if (!(await lookAfter(endpoint, keeper))) return false;
    await endpoints.letGo(id, roll.replica);
    const after = await endpoints.find(id);
    // Looked at once more, for who held something before it was let go.
    return after?.active !== true || (await held.count(id, after.epoch)) === 0;
  };

  /** True when there is nothing to look after. */
  const lookAfter = async (endpoint: Endpoint, keeper: Keeper): Promise<boolean> => {
    if (!endpoint.active) return true;
    const known = directory.prepare(endpoint);
    return endpoint.open ? drain(known, keeper) : tryOne(known, keeper);
  };

  const tryOne = async (known: Known, keeper: Keeper): Promise<boolean> => {
    const { endpoint } = known;
    const entry = await nextOnTrial(endpoint);
    if (entry === undefined) return true;
    const { delivery, sequence } = entry;
    if (delivery.attempts >= attemptsMax) {
      await held.remove(sequence);
      return false;
    }
    const waitMs = delivery.dueAtMs - Date.now();
    if (waitMs > 0) {
      // Much can happen meanwhile, so the endpoint is read again afterwards.
      await nap(keeper, waitMs, { forMore: false });
      return false;
    }
    const result = await lanes.run(endpoint._id, async () =>
      isClosed() ? 'held' : deliver(known, delivery, { sequence, onTrial: true }),
    );
    if (result === 'settled') await held.remove(sequence);
    return false;
  };

  const nextOnTrial = async ({ _id, epoch, trials = [] }: Endpoint): Promise<HeldEntry | undefined> => {
    const [trial] = trials;
    const onTrial = trial === undefined ? undefined : await held.at(_id, epoch, trial.sequence);
    const entry = onTrial ?? (await held.first(_id, epoch));
    return entry === undefined ? undefined : asTried(entry, trials);
  };

  const drain = async (known: Known, keeper: Keeper): Promise<boolean> => {
    const { _id, epoch, trials = [] } = known.endpoint;
    let wakeAtMs = Infinity;
    for (let from = 1; ;) {
      const chunk = (await held.read(_id, epoch, from, chunkEntries)).map((entry) => asTried(entry, trials));
      const last = chunk.at(-1);
      if (last === undefined) break;
      const later = chunk.filter(({ delivery }) => delivery.dueAtMs > Date.now());
      const due = chunk.filter((entry) => !later.includes(entry));
      for (const { delivery } of later) wakeAtMs = Math.min(wakeAtMs, delivery.dueAtMs);
      const { settled, trouble } = await deliverAll(known, due, keeper);
      const wholeSoFar = settled.length === chunk.length && wakeAtMs === Infinity;
      if (wholeSoFar) await held.removeThrough(_id, epoch, last.sequence);
      else await Promise.all(settled.map(({ sequence }) => held.remove(sequence)));
      if (trouble !== undefined) throw trouble;
      if (settled.length < due.length || isClosed() || keeper.changed) return false;
      from = last.sequence + 1;
    }
    if (wakeAtMs === Infinity) return true;
    await nap(keeper, wakeAtMs - Date.now(), { forMore: true });
    return false;
  };

  /** Those that need not be held any longer as they are. Once one has failed, no further one begins. */
  const deliverAll = async (
    known: Known,
    entries: readonly HeldEntry[],
    keeper: Keeper,
  ): Promise<{ settled: HeldEntry[]; trouble: Error | undefined }> => {
    const settled: HeldEntry[] = [];
    let trouble: Error | undefined;
    const tried = entries.map(async (entry) => {
      const place = { sequence: entry.sequence, onTrial: false };
      try {
        const result = await lanes.run(known.endpoint._id, async () =>
          known.open && trouble === undefined && !keeper.changed && !isClosed()
            ? deliver(known, entry.delivery, place)
            : 'held',
        );
        if (result === 'settled') settled.push(entry);
      } catch (error) {
        trouble ??= error instanceof Error ? error : new Error(String(error));
      }
    });
    await Promise.all(tried);
    return { settled, trouble };
  };

  const nap = async (keeper: Keeper, ms: number, { forMore }: { forMore: boolean }): Promise<void> => {
    if (keeper.changed || (forMore && keeper.more) || isClosed() || ms <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    keeper.nap = { forMore, end: resolve };
    const timer = setTimeout(resolve, Math.min(ms, napMs));
    await promise;
    clearTimeout(timer);
    keeper.nap = undefined;
  };

  const sureOf = async <T>(id: string, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      unsure.add(id);
      throw error;
    }
  };

  const wake = (keeper: Keeper | undefined): void => {
    if (keeper === undefined) return;
    keeper.changed = true;
    keeper.nap?.end();
  };

  return {
    async ensure(id) {
      const mine = keepers.get(id);
      if (mine !== undefined && !isClosed()) {
        mine.more = true;
        // While one event is tried on its own schedule, what comes after it changes nothing.
        if (mine.nap?.forMore === true) mine.nap.end();
        return;
      }
      const claimed = await sureOf(id, endpoints.claim(id, roll.replica));
      // While the process stops, the claim stands for the others to take over.
      if (claimed !== null) begin(id);
    },
    wake: (id) => wake(keepers.get(id)),
    wakeAll() {
      for (const keeper of keepers.values()) wake(keeper);
    },
    async sweep() {
      const alive = roll.alive();
      if (alive === undefined || isClosed()) return;
      for (const id of unsure) {
        if ((await endpoints.claim(id, roll.replica)) !== null) begin(id);
        unsure.delete(id);
      }
      for (const { _id, keeper } of await endpoints.orphans(alive)) {
        if (isClosed() || !(await sureOf(_id, endpoints.takeOver(_id, keeper, roll.replica)))) continue;
        log.info({ endpoint: _id, from: keeper }, 'an endpoint is kept here now, its keeper fell silent');
        // If it was only asleep, it stops at this word.
        tellChanged(_id);
        begin(_id);
      }
    },
    get count() {
      return keepers.size;
    },
    async close() {
      closing.abort();
      for (const keeper of keepers.values()) keeper.nap?.end();
      await Promise.all([...keepers.values()].map(({ done }) => done));
    },
  };
}

/** Of an event that is or was on trial, the endpoint knows better than the stream how often it was tried. */
function asTried(entry: HeldEntry, trials: readonly Trial[]): HeldEntry {
  const trial = trials.find(({ sequence }) => sequence === entry.sequence);
  if (trial === undefined) return entry;
  const { attempts, dueAt } = trial;
  return { ...entry, delivery: { ...entry.delivery, attempts, dueAtMs: dueAt.getTime() } };
}
