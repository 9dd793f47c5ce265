// A webhook endpoint as it is stored, and as callers see it.
import type { EventKind, RegisteredWebhook, Webhook } from '@integration-sync/contracts';

export type DisabledReason = 'failures' | 'gone' | 'manual';

export interface Endpoint {
  _id: string;
  integration: string;
  url: string;
  events: EventKind[];
  createdAt: Date;
  /** Grows with every change by a caller. */
  version: number;
  /** Sealed by the vault. */
  secret: string;
  /** Those before it, which sign beside it until they expire; newest first. Sealed too. */
  previousSecrets?: PreviousSecret[];

  active: boolean;
  disabledAt: Date | null;
  disabledReason: DisabledReason | null;
  /** How often it was disabled. Each delivery carries the epoch it was meant for. */
  epoch: number;
  /** When each epoch ended, newest last. */
  disablings: { epoch: number; at: Date }[];
  /** Place in the event stream: only events after it are for the present period of activity. */
  eventsAfter: number;
  /** Origins of events that stand after it, and had occurred before: see cutoff.ts. */
  eventsUnderWay?: string[];
  /** What it subscribed to before, each for the events up to a place in the stream; oldest first. */
  earlierEvents: EarlierEvents[];

  /** Failed attempts in a row. */
  failures: number;
  /** While closed, one event is tried at a time, by the endpoint's owner. */
  open: boolean;
  /** Moves with every counted failure and every change of url: an attempt that began under another mark does not count. */
  mark: number;
  /**
   * First the event that is tried while the gate is closed, then those that were before it and may not be settled:
   * their places in HELD, and what HELD does not know about them.
   */
  trials?: Trial[];
  /** The owner: the replica that looks after what is held for it; absent while there is nothing to look after. */
  keeper?: string;
  /** What is still to be announced as `webhook.disabled`. */
  unannounced: Announcement[];
}

/** What the fan-out has to know of an endpoint. */
export type Subscriber = Pick<
  Endpoint,
  | '_id'
  | 'events'
  | 'earlierEvents'
  | 'active'
  | 'createdAt'
  | 'disablings'
  | 'epoch'
  | 'eventsAfter'
  | 'eventsUnderWay'
>;

export type VersionedSubscriber = Subscriber & { version: number };

export interface Announcement {
  /** The one that ended. */
  epoch: number;
  at: Date;
  url: string;
  reason: DisabledReason;
  consecutiveFailures: number;
}

export interface PreviousSecret {
  sealed: string;
  expiresAt: Date;
}

/** A caller who rotates again because the answer got lost must not end the secret that is in use. */
export const previousSecretsMax = 3;

/** Those that still sign at that time. */
export const servingSecrets = (
  { previousSecrets = [] }: Pick<Endpoint, 'previousSecrets'>,
  atMs: number,
): PreviousSecret[] => previousSecrets.filter(({ expiresAt }) => expiresAt.getTime() > atMs);

export interface EarlierEvents {
  through: number;
  /** Origins of events that stand after it, and had occurred before. */
  underWay?: string[];
  events: EventKind[];
}

export interface Trial {
  sequence: number;
  attempts: number;
  dueAt: Date;
}

/** As many as can be in flight when the gate closes; each of them may become the one on trial. */
export const trialsMax = 8;

/**
 * Replicas fan events out within moments, so few changes of kinds can lie between an event and its fan-out.
 */
export const earlierEventsMax = 20;

/** Disablings that an endpoint remembers; a replay cannot go back further. */
export const disablingsMax = 200;

export interface NewEndpoint {
  id: string;
  integration: string;
  url: string;
  events: readonly EventKind[];
  secret: string;
  eventsAfter: number;
  eventsUnderWay?: string[];
}

/** As it is registered: it has had no attempt yet, so one event at a time gets one. */
export const newEndpoint = ({ id, events, ...given }: NewEndpoint): Endpoint => ({
  ...given,
  _id: id,
  events: [...new Set(events)],
  createdAt: new Date(),
  version: 1,
  previousSecrets: [],
  active: true,
  disabledAt: null,
  disabledReason: null,
  epoch: 0,
  disablings: [],
  earlierEvents: [],
  failures: 0,
  open: false,
  mark: 0,
  trials: [],
  unannounced: [],
});

export const webhookOf = (endpoint: Endpoint): Webhook => ({
  id: endpoint._id,
  url: endpoint.url,
  events: endpoint.events,
  active: endpoint.active,
  createdAt: endpoint.createdAt.toISOString(),
  disabledAt: endpoint.disabledAt?.toISOString() ?? null,
  disabledReason: endpoint.disabledReason,
  consecutiveFailures: endpoint.failures,
});

export const registeredWebhookOf = (endpoint: Endpoint, secret: string): RegisteredWebhook => ({
  id: endpoint._id,
  url: endpoint.url,
  events: endpoint.events,
  active: endpoint.active,
  secret,
  createdAt: endpoint.createdAt.toISOString(),
});
