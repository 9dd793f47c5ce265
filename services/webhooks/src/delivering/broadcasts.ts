// Broadcasts between replicas: an endpoint has changed, or an event of a partition that was given back is finished. A broadcast
// may get lost.
import { endpointChangedSubject, requestHeaders } from '@integration-sync/contracts';
import type { Broadcast, Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { LogPoint, Offsets } from '../log/offsets.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { Integrations } from './integrations.ts';

/** The subject of broadcasts that an event is delivered or given up, although its name says only the former. */
const finishedSubject = 'webhooks.event.delivered';

export type TellFinished = (queue: EndpointQueue, point: LogPoint) => Promise<void>;

/**
 * Reports an event that was in flight when its partition was given back, and is finished now. The event also leaves the stored
 * offset, for a next owner that has yet to read that offset.
 */
export const openTellFinished =
  (bus: Pick<Bus, 'broadcast'>, offsets: Pick<Offsets, 'removeOpen'>, log: Log): TellFinished =>
  async ({ integration, id }, point) => {
    await offsets.removeOpen(integration, id, point).catch((error: unknown) => {
      log.debug(
        { err: error, endpoint: id },
        'a finished event stays in the stored offset and may be sent again',
      );
    });
    bus.broadcast(finishedSubject, JSON.stringify([integration, id, point.sequence, point.index]));
  };

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

/** Hears from other replicas which endpoints have changed, and which events of this replica's partitions they have finished. */
export function listenForChanges(
  bus: Pick<Bus, 'listen'>,
  self: string,
  cache: Pick<EndpointCache, 'forget' | 'forgetAll'>,
  integrations: Pick<Integrations, 'refresh' | 'finish'>,
  log: Log,
): Disposable {
  const stack = new DisposableStack();
  const onChanged = ({ body, headers }: Broadcast): void => {
    if (headers.get('replica') === self) return;
    const id = Buffer.from(body).toString();
    cache.forget(id);
    const integration = headers.get(requestHeaders.integration);
    if (integration !== undefined) void integrations.refresh(integration, id).catch(logged(log, id));
  };
  const onFinished = ({ body }: Broadcast): void => {
    const said: [string, string, number, number] = JSON.parse(Buffer.from(body).toString());
    const [integration, endpointId, sequence, index] = said;
    integrations.finish(integration, endpointId, { sequence, index });
  };
  stack.use(bus.listen(endpointChangedSubject, onChanged, cache.forgetAll));
  stack.use(bus.listen(finishedSubject, onFinished));
  return stack;
}

/** A failed refresh needs no more than a log line: the next look-up finds the change. */
export const logged =
  (log: Log, endpoint: string) =>
  (error: unknown): void =>
    log.debug({ err: error, endpoint }, 'a changed endpoint was not read: the next look-up finds the change');
