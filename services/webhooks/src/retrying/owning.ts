// What the owner of one endpoint does, from the moment it owns the endpoint until it lets go.
import type { Log } from '@integration-sync/runtime/log';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import type { Held } from './held.ts';
import { nap, type OwnedEndpoint } from './owned.ts';
import type { Redeliver } from './redeliver.ts';

/**
 * Resolves when the endpoint is no longer this replica's to look after, or the process stops. It calls `onEnd` in the
 * same moment in which it looks last for something more to do, so that nothing comes between the two.
 */
export type Own = (id: string, owned: OwnedEndpoint, onEnd: () => void) => Promise<void>;

export interface OwningOptions {
  endpoints: Pick<Endpoints, 'claim' | 'letGo'> & { find(id: string): Promise<Endpoint | null> };
  held: Pick<Held, 'count' | 'removeEndpoint'>;
  cache: Pick<EndpointCache, 'prepare'>;
  redeliver: Redeliver;
  /** The name of this replica. */
  self: string;
  /** The process stops. */
  closing: AbortSignal;
  log: Log;
}

const troubleMs = 500;
/** An engine or a proxy that is away is not worth a line per endpoint and try. */
const linesEveryTroubles = 20;

export function openOwning({ endpoints, held, cache, redeliver, self, closing, log }: OwningOptions): Own {
  const isClosed = (): boolean => closing.aborted;

  /** True when it is no longer this replica's to look after. */
  const ownOnce = async (id: string, owned: OwnedEndpoint): Promise<boolean> => {
    const endpoint = await endpoints.find(id);
    if (endpoint === null) {
      await held.removeEndpoint(id);
      return true;
    }
    if (endpoint.keeper !== self) {
      return endpoint.keeper !== undefined || (await endpoints.claim(id, self)) === null;
    }
    if (endpoint.active && !(await redeliver(cache.prepare(endpoint), owned))) return false;
    await endpoints.letGo(id, self);
    const after = await endpoints.find(id);
    // Another replica may have held something before this one let go.
    return after?.active !== true || (await held.count(id, after.epoch)) === 0;
  };

  return async (id, owned, onEnd) => {
    let troubles = 0;
    while (!isClosed()) {
      owned.changed = false;
      owned.more = false;
      let isDone = false;
      try {
        isDone = await ownOnce(id, owned);
        troubles = 0;
      } catch (error) {
        if (isClosed()) break;
        if (troubles % linesEveryTroubles === 0)
          log.warn(
            { err: error, endpoint: id, tries: troubles + 1 },
            'keeping an endpoint failed, trying again',
          );
        await nap(owned, { ms: troubleMs * 2 ** troubles, forMore: false, closing });
        troubles += 1;
      }
      // A delivery that was held up to here found an owner, and was left to it.
      if (isDone && !owned.changed && !owned.more) break;
    }
    onEnd();
  };
}
