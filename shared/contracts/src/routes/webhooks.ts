// The routes by which callers register webhooks, manage them, and read how deliveries went.
import { oneOf } from '../fields.ts';
import { scopes } from '../scopes.ts';
import { subjects } from '../subjects.ts';
import {
  ChangeWebhook,
  DeliveryAttempt,
  DetailedWebhook,
  DrillResult,
  EventDelivery,
  RegisteredWebhook,
  RegisterWebhook,
  ReplayAnswer,
  ReplayEvents,
  RotatedWebhook,
  RotateSecret,
  TestResult,
  Webhook,
} from '../webhooks.ts';
import {
  attemptExample,
  deliveryExample,
  drillExample,
  registeredWebhookExample,
  secretExample,
  syncedAtExample,
  webhookExample,
} from './examples.ts';
import { answered, cursor, detailsFlag, limit, listed, page, parameter, since, text } from './parameters.ts';
import {
  basePath,
  drillTimeoutMs,
  listTimeoutMs,
  manageTimeoutMs,
  pushTimeoutMs,
  testTimeoutMs,
  type Route,
} from './route.ts';

const details = detailsFlag(
  'Whether `details` shows the settings beside `url` and `events`; of headers only the names',
);

/** A route of one webhook. */
const ofOne = (name: string) =>
  ({ path: `${basePath}/webhook-events/{id}${name}`, names: 'webhook' }) as const;

const reading = { tag: 'Webhooks', scope: scopes.webhooksRead, timeoutMs: listTimeoutMs } as const;
const managing = { tag: 'Webhooks', scope: scopes.webhooksWrite, timeoutMs: manageTimeoutMs } as const;

export const webhookRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: `${basePath}/webhook-events`,
    operationId: 'registerWebhook',
    summary: 'Register a webhook',
    ...managing,
    subject: subjects.endpointsRegister,
    conflicts: true,
    takesIdempotencyKey: true,
    body: { schema: RegisterWebhook, example: { url: webhookExample.url, events: webhookExample.events } },
    answer: {
      status: 201,
      schema: RegisteredWebhook,
      example: registeredWebhookExample,
      headers: ['Location'],
    },
  },
  {
    method: 'GET',
    path: `${basePath}/webhook-events`,
    operationId: 'listWebhooks',
    summary: 'List the registered webhooks',
    ...reading,
    subject: subjects.endpointsList,
    query: [page, limit, cursor, details],
    answer: listed(DetailedWebhook, 'WebhookListing', webhookExample, 'Link'),
  },
  {
    method: 'GET',
    ...ofOne(''),
    operationId: 'getWebhook',
    summary: 'Read one webhook',
    ...reading,
    subject: subjects.endpointsGet,
    query: [details],
    answer: answered(DetailedWebhook, webhookExample),
  },
  {
    method: 'PATCH',
    ...ofOne(''),
    operationId: 'changeWebhook',
    summary: 'Change a webhook’s settings, pause or resume it',
    ...managing,
    subject: subjects.endpointsChange,
    body: { schema: ChangeWebhook, example: { active: true } },
    answer: answered(Webhook, webhookExample, 'X-Dropped-Headers'),
  },
  {
    method: 'DELETE',
    ...ofOne(''),
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    ...managing,
    subject: subjects.endpointsRemove,
    answer: { status: 204 },
  },
  {
    method: 'POST',
    ...ofOne('/rotate-secret'),
    operationId: 'rotateWebhookSecret',
    summary: 'Give a webhook a new secret; for a while, the previous secret signs too',
    description:
      'While three previous secrets sign, another rotation is 409, unless its `gracePeriodSeconds` is 0.',
    ...managing,
    subject: subjects.endpointsRotate,
    conflicts: true,
    body: { schema: RotateSecret, example: { gracePeriodSeconds: 3600 }, optional: true },
    answer: answered(RotatedWebhook, {
      ...webhookExample,
      secret: secretExample,
      previousSecretExpiresAt: '2026-03-31T10:26:53.589Z',
    }),
  },
  {
    method: 'POST',
    ...ofOne('/test'),
    operationId: 'testWebhook',
    summary: 'Send a test delivery now and tell what the receiver said',
    ...managing,
    subject: subjects.endpointsTest,
    conflicts: true,
    answer: answered(TestResult, { delivered: true, responseStatus: 204, durationMs: 41, error: null }),
    timeoutMs: testTimeoutMs,
  },
  {
    method: 'POST',
    ...ofOne('/drill'),
    operationId: 'drillWebhook',
    summary:
      'Send twelve test deliveries, valid and forged, and say which of them the receiver answers wrongly',
    description:
      'Every delivery has the header `X-Webhook-Drill: true`. None counts as a failure, and none is in the attempt log. ' +
      'A drill of a webhook may begin once a minute.',
    ...managing,
    subject: subjects.endpointsDrill,
    conflicts: true,
    answer: answered(DrillResult, drillExample),
    timeoutMs: drillTimeoutMs,
  },
  {
    method: 'GET',
    ...ofOne('/deliveries'),
    operationId: 'listDeliveries',
    summary: 'Read a webhook’s attempt log, newest first',
    ...reading,
    subject: subjects.deliveriesList,
    query: [
      page,
      limit,
      { ...since, description: 'Only attempts after this day, or date-time with Z or an offset' },
      cursor,
      parameter('outcome', oneOf(['succeeded', 'failed']), 'Only attempts with this outcome'),
      text('event', 'Only attempts of this kind of event'),
    ],
    answer: listed(DeliveryAttempt, 'DeliveryListing', attemptExample, 'X-Next-Since', 'Link'),
  },
  {
    method: 'GET',
    ...ofOne('/deliveries/{eventId}'),
    operationId: 'getDelivery',
    summary: 'Read the delivery of one event, and the receiver’s answers',
    ...reading,
    subject: subjects.deliveriesGet,
    names: 'delivery',
    answer: answered(EventDelivery, deliveryExample),
  },
  {
    method: 'POST',
    ...ofOne('/replay'),
    operationId: 'replayWebhookEvents',
    summary: 'Send the events of a span of time again, or some events of the attempt log',
    ...managing,
    subject: subjects.endpointsReplay,
    conflicts: true,
    body: { schema: ReplayEvents, example: { since: syncedAtExample, events: ['supplier.created'] } },
    answer: { status: 202, schema: ReplayAnswer, example: { queued: 12 } },
    timeoutMs: pushTimeoutMs,
  },
];
