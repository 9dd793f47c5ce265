// A webhook endpoint as it is stored, and as callers see it. What changes it (– leaves a field alone):
//
//   what happens                             active  circuit  failures        version  epoch  mark
//   ───────────────────────────────────────  ──────  ───────  ──────────────  ───────  ─────  ────
//   a caller registers it                    true    open     0               1        0      0
//   a success while the circuit is open      –       closed   0               –        –      –
//   a failure counts, the 1st to the 9th     –       open     +1              –        –      +1
//   a failure does not count                 –       –        –               –        –      –
//   the 10th in a row that counts            false   open     10              –        +1     +1
//   410                                      false   open     +1 if it counts –        +1     +1
//   a caller disables it                     false   open     –               +1       +1     +1
//   a caller or a recovery enables it        true    open     0               +1       –      +1
//   a caller changes its url                 –       open     –               +1       –      +1
//   a caller changes anything else           –       –        –               +1       –      –
//   an operator seals its secrets again      –       –        –               +1       –      –
//   EVENTS was lost or put back              –       –        –               +1       –      –
//
// Each change is one update, on the condition that no other replica came first (store.ts).
import {
  type DetailedWebhook,
  type EventKind,
  limits,
  type RegisteredWebhook,
  type Webhook,
} from '@integration-sync/contracts';
import type { Offset, OpenEvent } from '../log/offsets.ts';

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
  /** The secret is no longer that of the registration. */
  isRotated?: boolean;
  /** Headers of the caller's, sealed as well; their names stand beside them. Absent where there are none. */
  headers?: string;
  headerNames?: string[];

  description?: string;
  recover?: boolean;
  /** What its caller asks for; absent where nothing was asked for. */
  inFlightMax?: number;

  active: boolean;
  disabledAt: Date | null;
  disabledReason: DisabledReason | null;
  /** How often it was disabled. */
  epoch: number;
  /** When each epoch ended, newest last. */
  disablings: { epoch: number; at: Date }[];
  /** What was undelivered when an epoch ended, by the epoch; null until the owner has said so. */
  missed?: Record<string, Missed | null>;
  /** Place in the event stream: only events after it are for the present period of activity. */
  eventsAfter: number;
  /** Origins of events that stand after it, and had occurred before: see cutoff.ts. */
  eventsUnderWay?: string[];
  /** What it subscribed to before, each for the events up to a place in the stream; oldest first. */
  earlierEvents: EarlierEvents[];

  /** Failed attempts in a row. */
  failures: number;
  /** The circuit is closed: all is well. Otherwise one event is tried at a time. */
  open: boolean;
  /** Moves with every counted failure and every change of url: an attempt that began under another mark does not count. */
  mark: number;
  /** How often the events were tried that failed last; first the one on trial. */
  trials?: OpenEvent[];
  /** What is to be done next to bring it back; absent where there is nothing to do. */
  recovery?: Recovery;
  /** What is still to be announced as `webhook.disabled`. */
  unannounced: Announcement[];
}

/** What an owner has to know of an endpoint to find what is for it. */
export type Subscriber = Pick<
  Endpoint,
  | '_id'
  | 'version'
  | 'open'
  | 'mark'
  | 'trials'
  | 'missed'
  | 'events'
  | 'earlierEvents'
  | 'active'
  | 'createdAt'
  | 'disablings'
  | 'epoch'
  | 'eventsAfter'
  | 'eventsUnderWay'
  | 'inFlightMax'
>;

export interface Missed extends Offset {
  /** The making of the stream that the sequences are of. */
  stream: string;
}

/** See recovery.ts. */
export interface Recovery {
  step: 'test' | 'enable' | 'send';
  dueAt: Date;
  /** Whether what it has missed is sent to it. */
  replays: boolean;
  /** Since when it misses events; with `send`. */
  since?: Date;
  /** How often it had been disabled by then: what tells `webhook.enabled` of one recovery from that of another. */
  epoch?: number;
}

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

/** The vault binds headers to this, so that they open as nothing else. */
export const headersSealedFor = (endpointId: string): string => `${endpointId} headers`;

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

/** How many events of an endpoint are open at once, at least; each of them may become the one on trial. */
const openMin = limits.webhookInFlightDefault;

export const inFlightMaxOf = ({ inFlightMax }: Pick<Endpoint, 'inFlightMax'>): number =>
  inFlightMax ?? limits.webhookInFlightDefault;

/** How many events are open at once: in flight, or waiting for their next attempt. */
export const openMaxOf = (endpoint: Pick<Endpoint, 'inFlightMax'>): number =>
  Math.max(inFlightMaxOf(endpoint), openMin);

/** An endpoint that is behind has events before many a change of its kinds; beyond these the oldest kinds are forgotten. */
export const earlierEventsMax = 200;

/** Disablings that an endpoint remembers; a replay cannot go back further. */
export const disablingsMax = 200;

interface NewEndpoint {
  id: string;
  integration: string;
  url: string;
  events: readonly EventKind[];
  secret: string;
  eventsAfter: number;
  eventsUnderWay?: string[];
  settings?: EndpointSettings;
}

/** What a caller may say beside url and events, as it is stored. */
export type EndpointSettings = Pick<
  Endpoint,
  'description' | 'headers' | 'headerNames' | 'recover' | 'inFlightMax'
>;

/** As it is registered: it has had no attempt yet, so one event at a time gets one. */
export const newEndpoint = ({ id, events, settings, ...given }: NewEndpoint): Endpoint => ({
  ...given,
  ...settings,
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

export const detailedWebhookOf = (endpoint: Endpoint): DetailedWebhook => ({
  ...webhookOf(endpoint),
  details: {
    description: endpoint.description ?? null,
    headerNames: endpoint.headerNames ?? [],
    recover: endpoint.recover ?? false,
    inFlightMax: inFlightMaxOf(endpoint),
  },
});

export const registeredWebhookOf = (endpoint: Endpoint, secret: string): RegisteredWebhook => ({
  id: endpoint._id,
  url: endpoint.url,
  events: endpoint.events,
  active: endpoint.active,
  secret,
  createdAt: endpoint.createdAt.toISOString(),
});
