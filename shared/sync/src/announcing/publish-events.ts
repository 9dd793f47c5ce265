// A push's events, for other services and for webhooks: each as a message of its own, and then all of them as a event batch.
// Under the same ids however often, so that each step is done again where it was cut off.
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

/** Resolves with what their event batch is made of. */
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
