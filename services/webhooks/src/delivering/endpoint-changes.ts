// Broadcasts to all replicas that an endpoint has changed. If a broadcast gets lost, the next look-up of the endpoint finds the
// change.
import { endpointChangedSubject, requestHeaders } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Revisions } from '../endpoints/endpoint-store.ts';
import type { Integrations } from './owned-integrations.ts';

/** Once the promise resolves, a replica that misses the broadcast finds the change with its next look-up. */
export type Changed = (endpoint: Pick<Endpoint, '_id' | 'integration'>) => Promise<void>;

export const openChanged =
  (bus: Pick<Bus, 'broadcast'>, revisions: Pick<Revisions, 'changed'>): Changed =>
  async ({ _id, integration }) => {
    await revisions.changed(integration);
    bus.broadcast(endpointChangedSubject, _id, { [requestHeaders.integration]: integration });
  };

export const listenForChanges = (
  bus: Pick<Bus, 'listen'>,
  cache: Pick<EndpointCache, 'forgetAll'>,
  integrations: Pick<Integrations, 'refresh'>,
  log: Log,
): Disposable =>
  bus.listen(
    endpointChangedSubject,
    ({ body, headers }) => {
      const id = Buffer.from(body).toString();
      const integration = headers.get(requestHeaders.integration) ?? '';
      integrations
        .refresh(integration, id)
        .catch((error: unknown) =>
          log.debug({ err: error, endpoint: id }, 'a changed endpoint could not be read yet'),
        );
    },
    cache.forgetAll,
  );
