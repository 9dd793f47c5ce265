// Computes the update by which an endpoint gets the configuration that its caller wants. This file neither reads nor stores.
import type { ChangeWebhook } from '@integration-sync/contracts';
import { earlierEventsMax, type Endpoint, type Recovery } from '../endpoints/endpoint.ts';
import { enabled, firstTest } from '../endpoints/recovery.ts';
import { disabling } from '../endpoints/endpoint-store.ts';
import type { Cutoff } from '../matching/cutoff.ts';
import type { SettingsChange } from './webhook-settings.ts';

/** Whether the change affects which events are delivered, so that it needs a cutoff. */
export const dividesEvents = ({ events, active }: ChangeWebhook): boolean =>
  events !== undefined || active === true;

/** Stored header values are secrets of the present receiver: a url of another origin removes them, unless headers come too. */
export const droppedHeaders = (
  { url: before, headerNames = [] }: Pick<Endpoint, 'url' | 'headerNames'>,
  { url = before, headers }: ChangeWebhook,
): readonly string[] =>
  headers === undefined && new URL(url).origin !== new URL(before).origin ? headerNames : [];

interface ChangeFacts {
  settings: SettingsChange;
  /** The webhook's new list of kinds applies to events after this cutoff. */
  cutoff: Cutoff;
  now: Date;
}

/** The update that makes the wanted change; undefined if the endpoint already has the wanted configuration. */
export function changeOf(endpoint: Endpoint, wanted: ChangeWebhook, { settings, cutoff, now }: ChangeFacts) {
  const { url = endpoint.url, active = endpoint.active } = wanted;
  const kinds = wanted.events === undefined ? endpoint.events : [...new Set(wanted.events)];
  const moves = url !== endpoint.url;
  const subscribes = kinds.join() !== endpoint.events.join();
  const starts = active && !endpoint.active;
  const stops = !active && endpoint.active;
  const { set, clear } = settings;
  const recovery = recoveryOf(endpoint, wanted, now);
  const isSet = Object.keys(set).length + clear.length > 0 || recovery !== endpoint.recovery;
  if (!moves && !subscribes && !starts && !stops && !isSet) return undefined;
  const stopped = stops
    ? disabling(endpoint, { reason: 'manual', failures: endpoint.failures, at: now, missed: null })
    : undefined;
  const unset = {
    ...stopped?.$unset,
    ...Object.fromEntries(clear.map((name) => [name, 1 as const])),
    ...(recovery === undefined && endpoint.recovery !== undefined ? { recovery: 1 as const } : {}),
  };
  const earlier = { $each: [{ ...cutoff, events: endpoint.events }], $slice: -earlierEventsMax };
  return {
    $set: {
      url,
      events: kinds,
      // An endpoint with a new url has an open circuit at first: one event at a time is tried.
      ...(moves ? { open: false, movedAt: now } : {}),
      ...(starts ? { ...enabled, eventsAfter: cutoff.through, eventsUnderWay: cutoff.underWay } : {}),
      ...stopped?.$set,
      ...set,
      ...(recovery === undefined || recovery === endpoint.recovery ? {} : { recovery }),
    },
    $inc: { version: 1, ...(moves || starts ? { mark: 1 } : {}), ...stopped?.$inc },
    ...(Object.keys(unset).length === 0 ? {} : { $unset: unset }),
    ...(subscribes || stops
      ? { $push: { ...(subscribes ? { earlierEvents: earlier } : {}), ...stopped?.$push } }
      : {}),
  };
}

/** The recovery of the endpoint after the change. A change with `active`, or with `recover` false, ends the recovery. */
function recoveryOf(endpoint: Endpoint, { active, recover }: ChangeWebhook, now: Date): Recovery | undefined {
  const { recovery, disabledAt, disabledReason } = endpoint;
  if (endpoint.active || disabledAt === null || recovery?.step === 'send') return recovery;
  if (active !== undefined || recover === false) return undefined;
  return recovery ?? (recover && disabledReason === 'failures' ? firstTest(disabledAt, now) : undefined);
}
