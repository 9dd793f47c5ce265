// The owner of an endpoint is the one replica that looks after what is held for it. Over all replicas there is one from
// the moment something is held until nothing is: a replica that holds something makes sure of an owner afterwards.
//
//   the endpoint is   its owner
//   ────────────────  ───────────────────────────────────────────────
//   closed, open      delivers what is held (redeliver.ts)
//   disabled, gone    lets go; what is held is missed
//
// The owner lets go when nothing is held any more, looks once more afterwards, and takes the endpoint up again if a
// replica has held something meanwhile. When an owner dies, the other replicas hear it fall silent (replicas.ts), and one
// of them takes over. In stored endpoints and in the log the owner is called the keeper.
import type { Log } from '@integration-sync/runtime/log';
import type { Deliver } from '../delivering/deliver.ts';
import type { Lanes } from '../delivering/lanes.ts';
import type { EndpointCache } from '../endpoints/cache.ts';
import { openLoader } from '../endpoints/loader.ts';
import type { Endpoints } from '../endpoints/store.ts';
import type { Limiter } from '../tools/limiter.ts';
import type { Held } from './held.ts';
import { newOwned, wake, type OwnedEndpoint } from './owned.ts';
import { openOwning } from './owning.ts';
import { openRedeliver } from './redeliver.ts';
import type { Replicas } from './replicas.ts';

export interface Owners {
  /** Resolves once a replica owns the endpoint. */
  ensure(endpointId: string): Promise<void>;
  /** The endpoint has changed. */
  wake(endpointId: string): void;
  /** Any endpoint may have changed. */
  wakeAll(): void;
  /** Takes over what dead replicas owned. */
  sweep: () => Promise<void>;
  readonly count: number;
  /** Nothing new begins; resolves when all owners here have stopped. Other replicas take over what they owned. */
  close(): Promise<void>;
}

export interface OwnersOptions {
  endpoints: Pick<Endpoints, 'findAll' | 'claim' | 'takeOver' | 'letGo' | 'orphans'>;
  held: Held;
  cache: Pick<EndpointCache, 'prepare' | 'remembered'>;
  lanes: Pick<Lanes, 'run'>;
  deliver: Deliver;
  replicas: Pick<Replicas, 'self' | 'alive'>;
  /** To this replica and all others. */
  tellChanged: (endpointId: string) => void;
  /** For what owners ask the database. */
  limit: Limiter;
  log: Log;
}

export function openOwners(options: OwnersOptions): Owners {
  const { held, cache, lanes, deliver, replicas, tellChanged, limit, log } = options;
  const { self } = replicas;
  const endpoints = limited(options.endpoints, limit);
  const owned = new Map<string, OwnedEndpoint>();
  /** Endpoints of which the database could not say whether it made them this replica's. */
  const unsure = new Set<string>();
  const closing = new AbortController();
  const isClosed = (): boolean => closing.signal.aborted;
  const redeliver = openRedeliver({ held, lanes, deliver, closing: closing.signal });
  const own = openOwning({ endpoints, held, cache, redeliver, self, closing: closing.signal, log });

  /** Several calls may find at one moment that the endpoint is this replica's; it is looked after once all the same. */
  const begin = (id: string): void => {
    if (owned.has(id) || isClosed()) return;
    const one = newOwned();
    owned.set(id, one);
    one.done = own(id, one, () => owned.delete(id));
  };

  /**
   * Another replica owns the endpoint, or a caller deleted it while something was on its way to what is held for it.
   * Every replica hears of a deletion and forgets the endpoint before it hears that what it holds is stored.
   */
  const removeIfGone = async (id: string): Promise<void> => {
    if (cache.remembered(id) != null || (await endpoints.find(id)) !== null) return;
    await held.removeEndpoint(id);
  };

  const sureOf = async <T>(id: string, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      unsure.add(id);
      throw error;
    }
  };

  return {
    async ensure(id) {
      const mine = owned.get(id);
      if (mine !== undefined && !isClosed()) {
        mine.more = true;
        // While one event is tried on its own schedule, what comes after it changes nothing.
        if (mine.nap?.forMore === true) mine.nap.end();
        return;
      }
      const claimed = await sureOf(id, endpoints.claim(id, self));
      // While the process stops, the claim stands for the others to take over.
      if (claimed !== null) begin(id);
      else await removeIfGone(id);
    },
    wake: (id) => wake(owned.get(id)),
    wakeAll() {
      for (const one of owned.values()) wake(one);
    },
    async sweep() {
      const alive = replicas.alive();
      if (alive === undefined || isClosed()) return;
      for (const id of unsure) {
        if ((await endpoints.claim(id, self)) !== null) begin(id);
        unsure.delete(id);
      }
      for (const { _id, keeper } of await endpoints.orphans(alive)) {
        if (isClosed() || !(await sureOf(_id, endpoints.takeOver(_id, keeper, self)))) continue;
        log.info({ endpoint: _id, from: keeper }, 'an endpoint is kept here now, its keeper fell silent');
        // An owner that was only asleep stops at this word.
        tellChanged(_id);
        begin(_id);
      }
    },
    get count() {
      return owned.size;
    },
    async close() {
      closing.abort();
      for (const one of owned.values()) one.nap?.end();
      await Promise.all([...owned.values()].map(({ done }) => done));
    },
  };
}

/** Finding and claiming take their turn, as many endpoints may fail at once. */
const limited = (endpoints: OwnersOptions['endpoints'], limit: Limiter) => ({
  ...endpoints,
  find: openLoader(endpoints, limit),
  claim: (id: string, replica: string) => limit(() => endpoints.claim(id, replica)),
});
