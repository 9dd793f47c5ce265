// What replicas say to each other of endpoints: that one has changed, and that an event was delivered whose endpoint is
// another replica's by now.
import { endpointChangedSubject, requestHeaders } from '@integration-sync/contracts';
import type { Broadcast, Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Integrations } from './integrations.ts';

export const deliveredSubject = 'webhooks.event.delivered';

interface Listening {
  cache: Pick<EndpointCache, 'forget' | 'forgetAll'>;
  integrations: Pick<Integrations, 'refresh' | 'delivered'>;
  log: Log;
}

/** Hears from the other replicas which endpoints have changed, and what they delivered of what is this one's now. */
export function listenForChanges(
  bus: Pick<Bus, 'listen'>,
  self: string,
  { cache, integrations, log }: Listening,
): Disposable {
  const stack = new DisposableStack();
  const onChanged = ({ body, headers }: Broadcast): void => {
    if (headers.get('replica') === self) return;
    const id = Buffer.from(body).toString();
    cache.forget(id);
    const integration = headers.get(requestHeaders.integration);
    if (integration !== undefined) void integrations.refresh(integration, id).catch(noted(log, id));
  };
  const onDelivered = ({ body }: Broadcast): void => {
    const said: [string, string, number, number] = JSON.parse(Buffer.from(body).toString());
    const [integration, endpointId, sequence, index] = said;
    integrations.delivered(integration, endpointId, { sequence, index });
  };
  stack.use(bus.listen(endpointChangedSubject, onChanged, cache.forgetAll));
  stack.use(bus.listen(deliveredSubject, onDelivered));
  return stack;
}

/** The next look-up finds it. */
export const noted =
  (log: Log, endpoint: string) =>
  (error: unknown): void =>
    log.debug({ err: error, endpoint }, 'a change of an endpoint is not known yet');
