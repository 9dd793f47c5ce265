// Broadcasts between replicas that an endpoint has changed. A broadcast may get lost.
import { endpointChangedSubject, requestHeaders } from '@integration-sync/contracts';
import type { Broadcast, Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Integrations } from './integrations.ts';

type Named = Pick<Endpoint, '_id' | 'integration'>;

/** Tells all replicas, this replica included, that the endpoint has changed. */
export type TellChanged = (endpoint: Named) => void;

/** Resolves once each replica has heard of a stored change of the endpoint, or finds the change with its next look-up. */
export type Changed = (endpoint: Named) => Promise<void>;

export const openTellChanged =
  (bus: Pick<Bus, 'broadcast'>, self: string, cache: Pick<EndpointCache, 'forget'>): TellChanged =>
  ({ _id, integration }) => {
    cache.forget(_id);
    bus.broadcast(endpointChangedSubject, _id, {
      replica: self,
      [requestHeaders.integration]: integration,
    });
  };

/** Hears from other replicas which endpoints have changed. */
export function listenForChanges(
  bus: Pick<Bus, 'listen'>,
  self: string,
  cache: Pick<EndpointCache, 'forget' | 'forgetAll'>,
  integrations: Pick<Integrations, 'refresh'>,
  log: Log,
): Disposable {
  const onChanged = ({ body, headers }: Broadcast): void => {
    if (headers.get('replica') === self) return;
    const id = Buffer.from(body).toString();
    cache.forget(id);
    const integration = headers.get(requestHeaders.integration);
    if (integration !== undefined) void integrations.refresh(integration, id).catch(logged(log, id));
  };
  return bus.listen(endpointChangedSubject, onChanged, cache.forgetAll);
}

/** A failed refresh needs no more than a log line: the next look-up finds the change. */
export const logged =
  (log: Log, endpoint: string) =>
  (error: unknown): void =>
    log.debug({ err: error, endpoint }, 'a changed endpoint was not read: the next look-up finds the change');
