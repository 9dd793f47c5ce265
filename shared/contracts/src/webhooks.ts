// Webhook endpoints, as callers register, read and manage them.
import { Type, type Static } from 'typebox';
import { eventKinds, type EventKind } from './events.ts';
import { limits } from './limits.ts';

const url = Type.String({
  description: 'Where deliveries are posted to; https on port 443',
  maxLength: limits.urlCharactersMax,
});
const events = Type.Array(Type.Unsafe<EventKind>({ type: 'string', enum: [...eventKinds] }), {
  minItems: 1,
  maxItems: limits.eventKindsMax,
  description: 'The kinds of events to deliver',
});
const instant = (description: string) => Type.String({ format: 'date-time', description });
const nullableInstant = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description });

export const RegisterWebhook = Type.Object({ url, events }, { title: 'RegisterWebhook' });
export type RegisterWebhook = Static<typeof RegisterWebhook>;

export const ChangeWebhook = Type.Object(
  {
    url: Type.Optional(url),
    events: Type.Optional(events),
    active: Type.Optional(Type.Boolean({ description: 'false pauses deliveries, true resumes them' })),
  },
  { title: 'ChangeWebhook' },
);
export type ChangeWebhook = Static<typeof ChangeWebhook>;

export const RotateSecret = Type.Object(
  {
    gracePeriodSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.gracePeriodSecondsMax,
        default: limits.gracePeriodSecondsDefault,
        description: 'How long deliveries are signed with the previous secret too',
      }),
    ),
  },
  { title: 'RotateSecret' },
);
export type RotateSecret = Static<typeof RotateSecret>;

export const ReplayEvents = Type.Object(
  {
    since: Type.String({ description: 'Events after this time; a day, or a date-time with Z or an offset' }),
    until: Type.Optional(
      Type.String({ description: 'Events up to this time; all that there are unless given' }),
    ),
    events: Type.Optional(events),
  },
  { title: 'ReplayEvents' },
);
export type ReplayEvents = Static<typeof ReplayEvents>;

const shared = {
  id: Type.String({ description: 'Webhook identifier' }),
  url: Type.String(),
  events: Type.Array(Type.String()),
  active: Type.Boolean({ description: 'Whether deliveries are enabled' }),
};
const secret = Type.String({ description: 'Signing secret; shown here and never again' });

export const RegisteredWebhook = Type.Object(
  { ...shared, secret, createdAt: instant('Creation time') },
  { title: 'RegisteredWebhook' },
);
export type RegisteredWebhook = Static<typeof RegisteredWebhook>;

export const Webhook = Type.Object(
  {
    ...shared,
    createdAt: instant('Creation time'),
    disabledAt: nullableInstant('When deliveries stopped; null while active'),
    disabledReason: Type.Unsafe<'failures' | 'gone' | 'manual' | null>({
      type: ['string', 'null'],
      enum: ['failures', 'gone', 'manual', null],
    }),
    consecutiveFailures: Type.Integer({ minimum: 0 }),
  },
  { title: 'Webhook' },
);
export type Webhook = Static<typeof Webhook>;

export const RotatedWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret,
    previousSecretExpiresAt: nullableInstant(
      'Until when the previous secret signs too; null if it no longer does',
    ),
  },
  { title: 'RotatedWebhook' },
);
export type RotatedWebhook = Static<typeof RotatedWebhook>;

const outcome = Type.Unsafe<'succeeded' | 'failed'>({ type: 'string', enum: ['succeeded', 'failed'] });
const responseStatus = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  description: 'The HTTP status that the receiver answered with; null where no answer came',
});
const error = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'Why it failed; null after a success',
});

export const DeliveryAttempt = Type.Object(
  {
    eventId: Type.String(),
    event: Type.String(),
    attempt: Type.Integer({ minimum: 1 }),
    at: instant('When the attempt was made'),
    outcome,
    responseStatus,
    durationMs: Type.Integer({ minimum: 0 }),
    error,
    nextAttemptAt: nullableInstant('When the next attempt is due; null if there is none'),
  },
  { title: 'DeliveryAttempt' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

export const TestResult = Type.Object(
  { delivered: Type.Boolean(), responseStatus, durationMs: Type.Integer({ minimum: 0 }), error },
  { title: 'TestResult' },
);
export type TestResult = Static<typeof TestResult>;

export const ReplayAnswer = Type.Object(
  { queued: Type.Integer({ minimum: 0, description: 'How many events will be sent' }) },
  { title: 'ReplayAnswer' },
);
export type ReplayAnswer = Static<typeof ReplayAnswer>;
