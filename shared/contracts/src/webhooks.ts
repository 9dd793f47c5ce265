// Webhook endpoints, as callers register, read and manage them. The numbers: limits.ts.
import { Type, type Static } from 'typebox';
import { eventKinds } from './events.ts';
import { instant, nullable, nullableInstant, oneOf, optionalText } from './fields.ts';
import { limits } from './limits.ts';

const url = Type.String({
  description: 'Where deliveries are posted to; https on port 443',
  maxLength: limits.urlCharactersMax,
});
const events = Type.Array(oneOf(eventKinds), {
  minItems: 1,
  maxItems: limits.eventKindsMax,
  description: 'The kinds of events to deliver',
});

/** The settings that a caller may give an endpoint beside its url and events. */
const settings = {
  description: optionalText(
    'What the webhook is for; null clears it',
    limits.webhookDescriptionCharactersMax,
  ),
  headers: Type.Optional(
    Type.Unsafe<Record<string, string> | null>({
      type: ['object', 'null'],
      maxProperties: limits.webhookHeadersMax,
      additionalProperties: {
        type: 'string',
        maxLength: limits.webhookHeaderBytesMax,
        pattern: '^[ -~\\t]*$',
        'x-expected': `at most ${limits.webhookHeaderBytesMax} characters of printable ASCII`,
        writeOnly: true,
      },
      description:
        'Headers of each delivery, by name. They replace all earlier headers; null removes all, and so does a `url` of another origin. No answer shows their values',
      'x-expected': `an object of at most ${limits.webhookHeadersMax} headers`,
      writeOnly: true,
    }),
  ),
  recover: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Whether a webhook that failures have disabled is tested from time to time, and enabled by the first 2xx',
    }),
  ),
  inFlightMax: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.webhookInFlightMax,
      default: limits.webhookInFlightDefault,
      description:
        'How many deliveries may be in flight concurrently, over all replicas; 1 means one at a time',
    }),
  ),
};

export const RegisterWebhook = Type.Object({ url, events, ...settings }, { title: 'RegisterWebhook' });
export type RegisterWebhook = Static<typeof RegisterWebhook>;

export const ChangeWebhook = Type.Object(
  {
    url: Type.Optional(url),
    events: Type.Optional(events),
    active: Type.Optional(Type.Boolean({ description: 'false pauses deliveries, true resumes them' })),
    ...settings,
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

export const ReplayEvents = Type.Object(
  {
    since: Type.Optional(
      Type.String({
        description:
          'Events after this time; a day, or a date-time with Z or an offset. Required unless `eventIds` is given',
      }),
    ),
    until: Type.Optional(Type.String({ description: 'Events up to this time; if absent, up to the newest' })),
    events: Type.Optional(events),
    eventIds: Type.Optional(
      Type.Array(Type.String({ maxLength: limits.eventIdCharactersMax }), {
        minItems: 1,
        maxItems: limits.eventIdsReplayedMax,
        description: 'Ids of events in the attempt log: only these are sent. Not allowed with other fields',
        'x-expected': 'at least one id of an event',
      }),
    ),
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

export const WebhookDetails = Type.Object(
  {
    description: nullable('string', {}),
    headerNames: Type.Array(Type.String()),
    recover: Type.Boolean(),
    inFlightMax: Type.Integer({ minimum: 1 }),
  },
  { title: 'WebhookDetails', description: 'Only with `details=true`' },
);

/** A webhook as both GET routes show it. */
export const DetailedWebhook = Type.Object(
  { ...Webhook.properties, details: Type.Optional(WebhookDetails) },
  { title: 'DetailedWebhook' },
);
export type DetailedWebhook = Static<typeof DetailedWebhook>;

export const RotatedWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret,
    previousSecretExpiresAt: nullableInstant(
      'Until when deliveries are signed with the previous secret too; null if they are not',
    ),
  },
  { title: 'RotatedWebhook' },
);
export type RotatedWebhook = Static<typeof RotatedWebhook>;

const responseStatus = nullable('integer', {
  description: 'The HTTP status that the receiver answered with; null if no answer came',
});
const error = nullable('string', { description: 'Why the delivery failed; null after a success' });

export const DeliveryAttempt = Type.Object(
  {
    eventId: Type.String(),
    event: Type.String(),
    attempt: Type.Integer({ minimum: 1 }),
    at: instant('When the attempt was made'),
    outcome: oneOf(['succeeded', 'failed']),
    responseStatus,
    durationMs: Type.Integer({ minimum: 0 }),
    error,
    nextAttemptAt: nullableInstant('When the next attempt is due; null if there is none'),
  },
  { title: 'DeliveryAttempt' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

/** The delivery of one event to one endpoint: the body that was sent, and the answers. */
export const EventDelivery = Type.Object(
  {
    eventId: Type.String(),
    event: Type.String(),
    body: nullable('string', {
      description: 'The body as sent, byte for byte; null once the stream no longer has the event',
    }),
    attempts: Type.Array(
      Type.Object(
        {
          ...DeliveryAttempt.properties,
          responseBody: nullable('string', {
            description: 'The first 1 KiB of the answer to a failed attempt, or null',
          }),
        },
        { title: 'EventDeliveryAttempt' },
      ),
      { description: 'The attempts in the attempt log, newest first' },
    ),
  },
  { title: 'EventDelivery' },
);
export type EventDelivery = Static<typeof EventDelivery>;

export const TestResult = Type.Object(
  { delivered: Type.Boolean(), responseStatus, durationMs: Type.Integer({ minimum: 0 }), error },
  { title: 'TestResult' },
);
export type TestResult = Static<typeof TestResult>;

const DrillCheck = Type.Object(
  {
    name: Type.String({ description: 'The name of the check, which docs/receiving-webhooks.md explains' }),
    expected: oneOf(['2xx', '4xx']),
    answered: nullable('integer', {
      description:
        'The HTTP status that the receiver answered with; null if no answer came, or nothing was sent',
    }),
    tookMs: Type.Integer({ minimum: 0 }),
    passed: Type.Boolean(),
    advice: nullable('string', {
      description: 'What to correct, and what happens otherwise; null if the check passed',
    }),
  },
  { title: 'DrillCheck' },
);
export type DrillCheck = Static<typeof DrillCheck>;

/** The result of a drill: which right deliveries the receiver accepted, and which forged deliveries it refused. */
export const DrillResult = Type.Object(
  { passed: Type.Boolean({ description: 'Whether each check passed' }), checks: Type.Array(DrillCheck) },
  { title: 'DrillResult' },
);
export type DrillResult = Static<typeof DrillResult>;

export const ReplayAnswer = Type.Object(
  { queued: Type.Integer({ minimum: 0, description: 'How many events will be sent' }) },
  { title: 'ReplayAnswer' },
);
