// The deliveries that webhooks receive: one entry for each kind of event, with the body and the headers.
import {
  ddsAnnounced,
  eventBodyOf,
  eventData,
  eventKinds,
  type EventData,
  type EventKind,
} from '@integration-sync/contracts';
import {
  announcedSyncIdExample,
  batchExample,
  ddsExample,
  productExample,
  referencedExample,
  runExample,
  supplierExample,
  syncedAtExample,
  webhookExample,
  type RecordExample,
} from '@integration-sync/contracts/examples';
import { contentOf, inPascalCase, parameterOf, reference, type JsonObject } from './model.ts';
import type { SchemaCollection } from './schemas.ts';

const idsOf = ({ item, internalId }: RecordExample) => ({ externalId: item.externalId, internalId });
const supplier = idsOf(supplierExample);
const product = idsOf(productExample);
const batch = idsOf(batchExample);
const syncId = announcedSyncIdExample;
const { entityType, created, updated, failed, startedAt, completedAt } = runExample;
const webhook = { webhookId: webhookExample.id, url: webhookExample.url };

const examples: { readonly [Kind in EventKind]: EventData<Kind> } = {
  'supplier.created': supplier,
  'supplier.updated': { ...supplier, changedFields: ['address', 'certifications'] },
  'supplier.archived': supplier,
  'supplier.erased': { ...supplier, externalId: '' },
  'product.created': product,
  'product.updated': { ...product, changedFields: ['hsCode'] },
  'product.archived': product,
  'batch.created': batch,
  'batch.updated': { ...batch, changedFields: ['quantity'] },
  'batch.archived': batch,
  'dds.created': ddsExample,
  'dds.updated': { ...referencedExample, changedFields: [...ddsAnnounced] },
  'sync.completed': { syncId, entityType, created, updated, failed, startedAt, completedAt },
  'sync.overdue': {
    entityType: 'product',
    everyHours: 26,
    lastPushAt: syncedAtExample,
    dueAt: '2026-04-01T11:26:53.589Z',
  },
  'webhook.disabled': { ...webhook, reason: 'failures', consecutiveFailures: 10 },
  'webhook.enabled': { ...webhook, disabledAt: syncedAtExample, queued: 12 },
};

export const bodyExampleOf = (kind: EventKind) => ({
  event: kind,
  timestamp: syncedAtExample,
  integrationId: 'acme',
  data: { ...examples[kind] },
});

export const describeDeliveries = (schemas: SchemaCollection): Record<string, JsonObject> =>
  Object.fromEntries(eventKinds.map((kind) => [kind, { post: describeDelivery(kind, schemas) }]));

function describeDelivery(kind: EventKind, schemas: SchemaCollection): JsonObject {
  return {
    operationId: `receive${inPascalCase(kind)}`,
    tags: ['Webhooks'],
    summary: `Sent to your URL on ${kind}`,
    security: [],
    parameters: Object.keys(deliveryHeaders).map((name) => reference('parameters', name)),
    requestBody: {
      required: true,
      content: contentOf(schemas.use(eventBodyOf(kind, eventData[kind])), bodyExampleOf(kind)),
    },
    responses: {
      '2XX': { description: 'Any 2xx within 10 seconds acknowledges the delivery; all else is tried again.' },
      '410': { description: 'Disables the webhook immediately.' },
    },
  };
}

const header = (name: string, description: string, example: string) => ({
  ...parameterOf('header', name, description),
  required: true,
  example,
});

export const eventIdExample = `${announcedSyncIdExample}-created-0`;

/** The headers as parameters of a delivery, for `components`. */
export const deliveryHeaders: Readonly<Record<string, ReturnType<typeof header>>> = {
  WebhookSignature: header(
    'X-Webhook-Signature',
    'HMAC-SHA256 over the raw body in lower-case hex, keyed with the secret exactly as it was returned.',
    '5d41402abc4b2a76b9719d911017c592ae1c0f1b2d3e4f5061728394a5b6c7d8',
  ),
  WebhookEvent: header('X-Webhook-Event', 'The kind of the event.', 'supplier.created'),
  WebhookEndpoint: header('X-Webhook-Id', 'The webhook.', webhookExample.id),
  WebhookTimestamp: header(
    'X-Webhook-Timestamp',
    'When the event occurred; the same on every attempt.',
    syncedAtExample,
  ),
  StandardWebhookId: header(
    'webhook-id',
    'The event, the same on every attempt and replay: tell duplicates by it. (Standard Webhooks 1.0)',
    eventIdExample,
  ),
  StandardWebhookTimestamp: header('webhook-timestamp', 'Unix seconds of this attempt.', '1774949213'),
  StandardWebhookSignature: header(
    'webhook-signature',
    'Standard Webhooks signatures over `id.timestamp.body`, separated by spaces while a secret is being rotated.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
};
