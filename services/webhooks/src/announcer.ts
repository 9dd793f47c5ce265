// `webhook.disabled`: noted with the endpoint in the update that disables it, published afterwards, and struck out
// once it is on the stream. Whatever dies in between, some replica finds the note and publishes it, under the same
// id, so that nobody sees it twice.
import { eventSubject, type EventBody } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Announcement, Endpoint } from './endpoint.ts';
import type { Endpoints } from './endpoints.ts';

export interface Announcer {
  announce: (endpoint: Endpoint) => void;
  /** What others have left unannounced. */
  sweep: () => Promise<void>;
  settled(): Promise<void>;
}

const kind = 'webhook.disabled';

export function openAnnouncer(
  endpoints: Pick<Endpoints, 'unannounced' | 'recordAnnounced'>,
  bus: Pick<Bus, 'publish'>,
  log: Log,
): Announcer {
  const underWay = new Set<Promise<void>>();

  const publishAll = async ({ _id, integration, unannounced }: Endpoint): Promise<void> => {
    for (const announcement of unannounced) {
      await bus.publish({
        subject: eventSubject(integration, kind),
        id: `${_id}-disabled-${announcement.epoch}`,
        body: JSON.stringify(eventOf(_id, integration, announcement)),
      });
      await endpoints.recordAnnounced(_id, announcement.epoch);
    }
  };

  return {
    announce(endpoint) {
      const work = publishAll(endpoint)
        .catch((error: unknown) => log.warn({ err: error, endpoint: endpoint._id }, 'not announced yet'))
        .finally(() => underWay.delete(work));
      underWay.add(work);
    },
    async sweep() {
      for (const endpoint of await endpoints.unannounced()) await publishAll(endpoint);
    },
    async settled() {
      await Promise.all(underWay);
    },
  };
}

const eventOf = (
  webhookId: string,
  integrationId: string,
  { at, url, reason, consecutiveFailures }: Announcement,
): EventBody<typeof kind> => ({
  event: kind,
  timestamp: at.toISOString(),
  integrationId,
  data: { webhookId, url, reason, consecutiveFailures },
});
