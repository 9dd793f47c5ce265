// Publishes the events of a push: first each event as a message of EVENTS, then all events as one event batch of EVENT_BATCHES. The
// message ids are always the same, so a replica may repeat each step.
import {
  eventsStream,
  storeEventBatch,
  storeEvents,
  type Announcer,
  type StoredEvents,
} from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { giveWay } from '@integration-sync/runtime/pace';
import { spanning, type Tracing } from '@integration-sync/runtime/tracing';
import { makeEvents, type Announcement } from './announcement.ts';
import type { Stage } from '../stage.ts';

export interface PublishOptions {
  service: Announcer;
  bus: Pick<Bus, 'publishBatch'>;
  reach: (stage: Stage) => Promise<void>;
  tracing?: Tracing | undefined;
}

/** Publishes the events to EVENTS. Resolves with the contents of the event batch. */
export function publishEvents(options: PublishOptions, announcement: Announcement): Promise<StoredEvents> {
  const { syncId, integration, traceparent } = announcement;
  const span = options.tracing?.begin({
    name: 'announce',
    kind: 'producer',
    parent: traceparent,
    attributes: {
      'messaging.system': 'nats',
      'messaging.destination.name': eventsStream,
      'sync.integration': integration,
      'sync.syncId': syncId,
      'sync.records': announcement.records.length,
    },
  });
  if (span === undefined) return publish(options, announcement, traceparent);
  return spanning(span, () => publish(options, announcement, span.traceparent));
}

async function publish(
  { bus, service }: PublishOptions,
  announcement: Announcement,
  traceparent: string | undefined,
): Promise<StoredEvents> {
  await giveWay(announcement.records.length);
  const events = makeEvents(announcement);
  await giveWay(events.length);
  return storeEvents(bus, { announcer: service, integration: announcement.integration, events, traceparent });
}

export async function publishBatchOf({ bus, reach }: PublishOptions, stored: StoredEvents): Promise<void> {
  await reach('after-events');
  await storeEventBatch(bus, stored);
  await reach('after-publish');
}
