// A webhook endpoint as it is stored (as callers see it: api/webhook-details.ts). It has two groups of fields with a writer each:
//
//   who writes                        which fields                                       on the condition
//   ────────────────────────────────  ─────────────────────────────────────────────────  ──────────────────────────────────────────
//   callers, recoveries, operators    the configuration; `active`, and what an enabling  `version` and `epoch` as they were read
//   at any replica                    resets
//   the owner of the partition        `failures`, `open`, `trials`, `missed`, `version` and `epoch` as the owner applied
//                                     `term`; its disablings                             them, and no later `term`
//
// Each change is one update (endpoint-store.ts). A change of configuration raises `version`, a disabling raises `epoch` too. What the owner counts
// raises nothing: no caller's decision depends on it. How deliveries stand changes as delivering/delivery-state.ts says.
import { type EventKind, limits } from '@integration-sync/contracts';
import type { Offset, OpenEvent } from '../log/offsets.ts';

export type DisabledReason = 'failures' | 'gone' | 'manual';

export interface Endpoint {
  _id: string;
  integration: string;
  url: string;
  /** When a caller last changed the url. Absent until then. */
  movedAt?: Date;
  events: EventKind[];
  createdAt: Date;
  /** Rises with each change of the configuration: an owner ignores an older version of the endpoint. */
  version: number;
  /** Sealed by the vault. */
  secret: string;
  /** Former secrets, sealed, newest first. Each signs beside `secret` until it expires. */
  previousSecrets?: PreviousSecret[];
  /** The secret is no longer that of the registration. */
  isRotated?: boolean;
  /** The caller's headers, sealed. Absent without headers. */
  headers?: string;
  headerNames?: string[];

  description?: string;
  recover?: boolean;
  /** Absent if the caller sets no limit. */
  inFlightMax?: number;

  active: boolean;
  disabledAt: Date | null;
  disabledReason: DisabledReason | null;
  /** How often the endpoint was disabled. */
  epoch: number;
  /** When each epoch ended, newest last. */
  disablings: { epoch: number; at: Date }[];
  /** By epoch, the events that were undelivered when the epoch ended; null until the owner has stored the events. */
  missed?: Record<string, Missed | null>;
  /** A sequence in EVENTS: the events up to it occurred before the endpoint was registered or enabled. */
  eventsAfter: number;
  /** Origins of events after `eventsAfter` that occurred before the endpoint was registered or enabled (cutoff.ts). */
  eventsUnderWay?: string[];
  /** Former sets of event kinds, oldest first. Each applies to the events before its cutoff. */
  earlierEvents: EarlierEvents[];

  /** Counted failures in a row. */
  failures: number;
  /** Whether the circuit is closed, by the name that release 1.1.0 reads. While it is not, one event at a time is tried. */
  open: boolean;
  /** The term of the owner that last stored how deliveries stand. Absent until then. */
  term?: number;
  /** Only release 1.1.0 reads it. */
  mark: number;
  /** The open events that failed last, with their numbers of attempts; the event on trial comes first. */
  trials?: Trial[];
  /** The next step to enable the endpoint, or to send its missed events. */
  recovery?: Recovery;
  /** Disablings of which `webhook.disabled` is not published yet. */
  unannounced: Announcement[];
  /** The replay that a replica is storing. After `until` that replica is dead. */
  replaying?: { by: string; until: Date };
  /** When its last drill began. */
  drilledAt?: Date;
}

/** The fields that an owner needs to find the endpoint's events, with only the last of the disablings. */
export const subscriberFields = {
  events: 1,
  earlierEvents: 1,
  active: 1,
  createdAt: 1,
  disablings: { $slice: -1 },
  epoch: 1,
  eventsAfter: 1,
  eventsUnderWay: 1,
  inFlightMax: 1,
  version: 1,
  open: 1,
  failures: 1,
  url: 1,
  movedAt: 1,
  trials: 1,
  missed: 1,
} as const;

export type Subscriber = Pick<Endpoint, '_id' | keyof typeof subscriberFields>;

export interface Missed extends Offset {
  /** The creation time of the log to which the sequences belong. */
  stream: string;
  /** The term of the owner that stored them; 0 if no owner did. Absent if an earlier release stored them. */
  term?: number;
}

export interface Trial extends OpenEvent {
  /** The creation time of the log to which the sequence belongs. Absent in a trial that 1.1.0 stored. */
  stream?: string;
}

/** A log that was created again has other events at the points of its former trials. */
export const isTrialOf = (log: string | undefined, { stream = log }: Trial): boolean => stream === log;

/** The next step of an endpoint's recovery (recovery.ts). */
export interface Recovery {
  step: 'test' | 'enable' | 'send';
  dueAt: Date;
  /** Whether the missed events are sent. */
  replays: boolean;
  /** Since when the endpoint misses events. */
  since?: Date;
  /** The epoch of the endpoint when it was enabled: the id of `webhook.enabled` contains it. */
  epoch?: number;
  /** The last sequence of EVENTS that the step `send` sends. */
  through?: number;
}

export interface Announcement {
  /** The epoch that ended. */
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

/** Several, because a caller whose answer got lost rotates again: the secret that receivers have must stay valid. */
export const previousSecretsMax = 3;

/** The vault binds sealed headers to this text, so that they do not open as a secret. */
export const headersSealedFor = (endpointId: string): string => `${endpointId} headers`;

/** The previous secrets that still sign at that time. */
export const servingSecrets = (
  { previousSecrets = [] }: Pick<Endpoint, 'previousSecrets'>,
  atMs: number,
): PreviousSecret[] => previousSecrets.filter(({ expiresAt }) => expiresAt.getTime() > atMs);

export interface EarlierEvents {
  through: number;
  /** Origins of events that occurred before the cutoff and stand after `through`. */
  underWay?: string[];
  events: EventKind[];
}

/** Every endpoint may have this many open events, even if its caller sets a lower in-flight limit. */
const openMin = limits.webhookInFlightDefault;

export const inFlightMaxOf = ({ inFlightMax }: Pick<Endpoint, 'inFlightMax'>): number =>
  inFlightMax ?? limits.webhookInFlightDefault;

/** How many events may be open: in flight, or waiting for another attempt. */
export const openMaxOf = (endpoint: Pick<Endpoint, 'inFlightMax'>): number =>
  Math.max(inFlightMaxOf(endpoint), openMin);

/** How many former sets of event kinds an endpoint keeps, for undelivered events from before a change. */
export const earlierEventsMax = 200;

/** How many disablings an endpoint keeps: a replay sends the missed events of these alone. */
export const disablingsMax = 200;

/** The settings of a caller beside url and events, as they are stored. */
export type EndpointSettings = Pick<
  Endpoint,
  'description' | 'headers' | 'headerNames' | 'recover' | 'inFlightMax'
>;

type NewEndpoint = EndpointSettings &
  Pick<Endpoint, 'integration' | 'url' | 'events' | 'secret' | 'eventsAfter' | 'eventsUnderWay'>;

/** A new endpoint begins with an open circuit: one event at a time, until the first success. */
export const newEndpoint = ({ id, events, ...given }: NewEndpoint & { id: string }): Endpoint => ({
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
  missed: {},
  unannounced: [],
});
