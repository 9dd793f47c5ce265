// A webhook endpoint as MongoDB stores it (api/webhook-details.ts has the form that callers get). One group of fields is written
// by callers, recoveries and operators, the other by the owner:
//
//   writer                            fields                                             condition of the update
//   ────────────────────────────────  ─────────────────────────────────────────────────  ──────────────────────────────────────────
//   callers, recoveries, operators    the configuration; `active`, and what an enabling  `version` and `epoch` as they were read
//   at any replica                    resets
//   the owner of the partition        `failures`, `open`, `trials`, `missed`, `version` and `epoch` as the owner applied
//                                     `term`; its disablings                             them, and no later `term`
//
// Each change is one update (endpoint-store.ts). A change of configuration raises `version`, and a disabling raises `epoch` too.
// A count of failures raises neither, because no caller's decision depends on the count. For the delivery state see
// delivering/delivery-state.ts.
import { type EventKind, limits } from '@integration-sync/contracts';
import type { Offset, OpenEvent } from '../log/offsets.ts';

export type DisabledReason = 'failures' | 'gone' | 'manual';

export interface Endpoint {
  _id: string;
  integration: string;
  url: string;
  /** When a caller last changed the url. Absent if no caller has changed it. */
  movedAt?: Date;
  events: EventKind[];
  createdAt: Date;
  /** The registration that stored the endpoint; absent if the caller gave no `Idempotency-Key`. */
  registration?: string;
  /** Rises with each change of the configuration. An owner that has applied a version ignores older versions. */
  version: number;
  secret: string;
  /** Former secrets, encrypted, newest first. Until a former secret expires, deliveries are signed with it and with `secret`. */
  previousSecrets?: PreviousSecret[];
  /** Whether a rotation has replaced the secret of the registration. */
  isRotated?: boolean;
  /** The caller's headers for deliveries, encrypted. Absent without headers. */
  headers?: string;
  headerNames?: string[];

  description?: string;
  recover?: boolean;
  /** The in-flight limit of the endpoint; absent if the caller sets no limit. */
  inFlightMax?: number;

  active: boolean;
  disabledAt: Date | null;
  disabledReason: DisabledReason | null;
  epoch: number;
  /** When each epoch ended, because the endpoint was disabled; newest last. */
  disablings: { epoch: number; at: Date }[];
  /** By epoch, the events that were undelivered when the epoch ended; null until the owner has stored the events. */
  missed?: Record<string, Missed | null>;
  /** A sequence in EVENTS: the events up to it occurred before the endpoint was registered or enabled. */
  eventsAfter: number;
  /** Origins of events after `eventsAfter` that occurred before the endpoint was registered or enabled (cutoff.ts). */
  eventsUnderWay?: string[];
  /** Former sets of event kinds, oldest first. Each applies to the events before its cutoff. */
  earlierEvents: EarlierEvents[];

  /** The number of failures in a row that count (delivering/delivery-state.ts). */
  failures: number;
  /** Whether the circuit is closed: release 1.1.0 reads the field by this name. */
  open: boolean;
  /** The term of the owner that last stored the delivery state. Absent until an owner stores the state. */
  term?: number;
  /** A counter that only release 1.1.0 reads. */
  mark: number;
  /** The open events that failed last, with their numbers of attempts; the event on trial comes first. */
  trials?: Trial[];
  recovery?: Recovery;
  /** Disablings for which `webhook.disabled` is not published yet. */
  unannounced: Announcement[];
  /** The replay that a replica is storing. After `until` that replica is dead. */
  replaying?: { by: string; until: Date };
  drilledAt?: Date;
}

/** The fields that an owner needs for deliveries to the endpoint. Of the disablings only the last is read. */
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
  /** The creation time of the stream EVENT_BATCHES to which the sequences belong. */
  stream: string;
  /** The term of the owner that stored the missed events; 0 if a replica stored them that is not the owner. Absent if an older release did. */
  term?: number;
}

export interface Trial extends OpenEvent {
  /** The creation time of the stream EVENT_BATCHES to which the sequence belongs. Absent in a trial that 1.1.0 stored. */
  stream?: string;
}

/** Whether a stored trial belongs to this log. After the log is created again, its points name other events. */
export const isTrialOf = (log: string | undefined, { stream = log }: Trial): boolean => stream === log;

/** The next step of an endpoint's recovery (recovery.ts). */
export interface Recovery {
  step: 'test' | 'enable' | 'send';
  dueAt: Date;
  replays: boolean;
  /** Since when the endpoint misses events. */
  since?: Date;
  /** How often the endpoint had been disabled when it was enabled: the id of the event `webhook.enabled` contains it. */
  epoch?: number;
  /** The last sequence of EVENTS that the step `send` sends. */
  through?: number;
  /** How many missed events are sent, once all are: `webhook.enabled` is left to publish. */
  queued?: number;
}

export interface Announcement {
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

/** How many former secrets stay valid: a caller that gets no answer rotates again, while its receiver has an older secret. */
export const previousSecretsMax = 3;

/** The context with which the vault encrypts headers, so that encrypted headers cannot be decrypted as a secret. */
export const headersSealedFor = (endpointId: string): string => `${endpointId} headers`;

export const servingSecrets = (
  { previousSecrets = [] }: Pick<Endpoint, 'previousSecrets'>,
  atMs: number,
): PreviousSecret[] => previousSecrets.filter(({ expiresAt }) => expiresAt.getTime() > atMs);

export interface EarlierEvents {
  through: number;
  /** Origins of events that occurred before the cutoff, but have a sequence after `through`. */
  underWay?: string[];
  events: EventKind[];
}

export const inFlightMaxOf = ({ inFlightMax }: Pick<Endpoint, 'inFlightMax'>): number =>
  inFlightMax ?? limits.webhookInFlightDefault;

/** How many events may be open: in flight, or waiting for another attempt. A lower in-flight limit does not lower this number. */
export const openMaxOf = (endpoint: Pick<Endpoint, 'inFlightMax'>): number =>
  Math.max(inFlightMaxOf(endpoint), limits.webhookInFlightDefault);

/** How many former sets of event kinds an endpoint keeps. Events from before a change of `events` may be undelivered. */
export const earlierEventsMax = 200;

/** How many disablings an endpoint keeps: a replay sends the missed events of these alone. */
export const disablingsMax = 200;

export type EndpointSettings = Pick<
  Endpoint,
  'description' | 'headers' | 'headerNames' | 'recover' | 'inFlightMax'
>;

type NewEndpoint = EndpointSettings &
  Pick<
    Endpoint,
    'integration' | 'url' | 'events' | 'registration' | 'secret' | 'eventsAfter' | 'eventsUnderWay'
  >;

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
