// A push's events, for other services and for webhooks: each as a message of its own, and then all of them as a bundle.
// Under the same ids however often, so that it is done again, as a whole, where it was cut off.
import { publishWithBundle } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { giveWay } from '@integration-sync/runtime/pace';
import { makeEvents, type Announcement } from './announcement.ts';
import type { Stage } from '../stage.ts';

export interface PublishOptions {
  bus: Pick<Bus, 'publishBatch'>;
  reach: (stage: Stage) => Promise<void>;
}

export async function publishEvents(
  { bus, reach }: PublishOptions,
  announcement: Announcement,
): Promise<void> {
  await giveWay(announcement.records.length);
  const events = makeEvents(announcement);
  await giveWay(events.length);
  await publishWithBundle(bus, announcement.integration, events, () => reach('after-events'));
  await reach('after-publish');
}
