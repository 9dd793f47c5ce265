// The rule of a change: the one update that makes an endpoint as its caller wants it. Nothing here reads or stores.
import type { ChangeWebhook } from '@integration-sync/contracts';
import { earlierEventsMax, type Endpoint } from '../endpoints/endpoint.ts';
import { disabling } from '../endpoints/recording.ts';
import type { Cutoff } from '../matching/cutoff.ts';

/** Whether events from now on go out otherwise than events so far. */
export const dividesEvents = ({ events, active }: ChangeWebhook): boolean =>
  events !== undefined || active === true;

/** The update that makes the endpoint as wanted, for the events after that cutoff; undefined if it is so already. */
export function changeOf(endpoint: Endpoint, wanted: ChangeWebhook, cutoff: Cutoff, now: Date) {
  const { url = endpoint.url, active = endpoint.active } = wanted;
  const kinds = wanted.events === undefined ? endpoint.events : [...new Set(wanted.events)];
  const moves = url !== endpoint.url;
  const subscribes = kinds.join() !== endpoint.events.join();
  const starts = active && !endpoint.active;
  const stops = !active && endpoint.active;
  if (!moves && !subscribes && !starts && !stops) return undefined;
  const stopped = stops
    ? disabling(endpoint, { reason: 'manual', failures: endpoint.failures, at: now, missed: null })
    : undefined;
  const earlier = { $each: [{ ...cutoff, events: endpoint.events }], $slice: -earlierEventsMax };
  return {
    $set: {
      url,
      events: kinds,
      // Another receiver starts with one attempt in flight.
      ...(moves ? { open: false } : {}),
      ...(starts ? { ...enabled, eventsAfter: cutoff.through, eventsUnderWay: cutoff.underWay } : {}),
      ...stopped?.$set,
    },
    $inc: { version: 1, ...(moves || starts ? { mark: 1 } : {}), ...stopped?.$inc },
    ...(stopped?.$unset === undefined ? {} : { $unset: stopped.$unset }),
    ...(subscribes || stops
      ? { $push: { ...(subscribes ? { earlierEvents: earlier } : {}), ...stopped?.$push } }
      : {}),
  };
}

const enabled = {
  active: true,
  disabledAt: null,
  disabledReason: null,
  failures: 0,
  open: false,
  trials: [],
};
