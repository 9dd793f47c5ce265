// Publishes `webhook.disabled` to the other endpoints of the integration. The update that disables an endpoint also stores the
// event in the endpoint's document, until the stream EVENTS has the event. If the replica dies before, another replica's periodic
// check publishes the event with the same id, so that receivers can recognise a duplicate.
//
// The revision of the integration is replaced before the event is published, so that owners read the endpoint again and end its
// epoch.
import {
  disabledEventId,
  type EventBody,
  type EventKind,
  eventSubject,
  publishWithBatch,
} from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { Endpoint } from './endpoint.ts';
import type { Endpoints, Revisions } from './endpoint-store.ts';

export type DisabledEvents = ReturnType<typeof openDisabledEvents>;

const everyMs = 500;

export function openDisabledEvents(
  endpoints: Pick<Endpoints, 'unannounced' | 'recordAnnounced'>,
  revisions: Pick<Revisions, 'changed'>,
  bus: Pick<Bus, 'publishBatch'>,
  log: Log,
) {
  const publishAll = async ({ _id, integration, unannounced }: Endpoint): Promise<void> => {
    await revisions.changed(integration);
    for (const announcement of unannounced) {
      const { epoch, at, url, reason, consecutiveFailures } = announcement;
      await publishEvent(bus, disabledEventId(_id, announcement), {
        event: 'webhook.disabled',
        timestamp: at.toISOString(),
        integrationId: integration,
        data: { webhookId: _id, url, reason, consecutiveFailures },
      });
      await endpoints.recordAnnounced(_id, epoch);
    }
  };
  const check = openPeriodicCheck(
    async () => {
      const found = await endpoints.unannounced();
      for (const one of await Promise.allSettled(found.map(publishAll)))
        if (one.status === 'rejected') throw one.reason;
    },
    { what: 'unannounced disablings', everyMs, log },
  );
  return {
    /** Publishes, in the background, the `webhook.disabled` events that endpoints have stored. */
    announce: check.now,
    [Symbol.asyncDispose]: check[Symbol.asyncDispose],
  };
}

/** Publishes an event that webhooks itself announces, such as `webhook.enabled`. */
export async function publishEvent<Kind extends EventKind>(
  bus: Pick<Bus, 'publishBatch'>,
  id: string,
  event: EventBody<Kind>,
): Promise<void> {
  const { event: kind, integrationId: integration } = event;
  const message = { subject: eventSubject(integration, kind), id, body: JSON.stringify(event) };
  await publishWithBatch(bus, { announcer: 'webhooks', integration, events: [message] });
}
