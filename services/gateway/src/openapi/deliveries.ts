// What webhooks receive: one entry per kind of event, with the body and the headers of its delivery.
import {
  eventBodyOf,
  eventData,
  eventKinds,
  type EventData,
  type EventKind,
} from '@integration-sync/contracts';
import { reference, type JsonObject } from './model.ts';
import type { SchemaCollection } from './schemas.ts';

const timestamp = '2026-03-31T09:26:53.589Z';
const supplier = { externalId: 'SUP-001', internalId: 'sup_3f1c0a52b7d94e6f8a21c5d07e9b4413' };
const product = { externalId: 'PROD-001', internalId: 'prd_8b7e2d4c19f04a3bb6509e1f7c2a8d36' };
const batch = { externalId: 'BATCH-2026-001', internalId: 'bat_5c9d1e7fa0324b88937d6e20f41ab57c' };

const examples: { readonly [Kind in EventKind]: EventData<Kind> } = {
  'supplier.created': supplier,
  'supplier.updated': { ...supplier, changedFields: ['address', 'certifications'] },
  'product.created': product,
  'product.updated': { ...product, changedFields: ['hsCode'] },
  'batch.created': batch,
  'batch.updated': { ...batch, changedFields: ['quantity'] },
  'dds.created': {
    ddsId: 'dds_1f2e3d4c5b6a79880716253443526170',
    batchExternalId: batch.externalId,
    batchInternalId: batch.internalId,
    status: 'DRAFT',
    hsCode: '4407.91',
    countryOfProduction: 'SE',
    quantity: 1250,
    unit: 'kg',
    referenceNumber: null,
    verificationNumber: null,
    missing: ['referenceNumber', 'verificationNumber', 'geolocation', 'operator'],
  },
  'sync.completed': {
    syncId: 'sync_019d42e3f4c59a1b7c3d5e6f708192a3',
    entityType: 'supplier',
    created: 1,
    updated: 0,
    failed: 0,
    startedAt: timestamp,
    completedAt: '2026-03-31T09:26:53.641Z',
  },
  'webhook.disabled': {
    webhookId: 'wh_6d0f5b1a2c3e4f708192a3b4c5d6e7f8',
    url: 'https://erp.example.com/hooks/sync',
    reason: 'failures',
    consecutiveFailures: 10,
  },
};

export const describeDeliveries = (schemas: SchemaCollection): Record<string, JsonObject> =>
  Object.fromEntries(eventKinds.map((kind) => [kind, { post: describeDelivery(kind, schemas) }]));

function describeDelivery(kind: EventKind, schemas: SchemaCollection): JsonObject {
  return {
    operationId: `receive${kind.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: ['Webhooks'],
    summary: `Sent to your URL on ${kind}`,
    security: [],
    parameters: Object.keys(deliveryHeaders).map((name) => reference('parameters', name)),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schemas.use(eventBodyOf(kind, eventData[kind])),
          examples: {
            example: {
              summary: 'An example',
              value: { event: kind, timestamp, integrationId: 'acme', data: { ...examples[kind] } },
            },
          },
        },
      },
    },
    responses: {
      '2XX': {
        description: 'Any 2xx within 10 seconds acknowledges the delivery. Everything else is tried again.',
      },
      '410': { description: 'Disables the webhook at once.' },
    },
  };
}

const header = (name: string, description: string, example: string): JsonObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

const eventId = 'sync_019d42e3f4c59a1b7c3d5e6f708192a3-created-0';

/** As parameters of a delivery, for `components`. */
export const deliveryHeaders: Readonly<Record<string, JsonObject>> = {
  WebhookSignature: header(
    'X-Webhook-Signature',
    'HMAC-SHA256 over the raw body in lower-case hex, keyed with the secret exactly as it was returned.',
    '5d41402abc4b2a76b9719d911017c592ae1c0f1b2d3e4f5061728394a5b6c7d8',
  ),
  WebhookEvent: header('X-Webhook-Event', 'The kind of the event.', 'supplier.created'),
  WebhookEndpoint: header('X-Webhook-Id', 'The webhook.', 'wh_6d0f5b1a2c3e4f708192a3b4c5d6e7f8'),
  WebhookTimestamp: header(
    'X-Webhook-Timestamp',
    'When the event occurred; the same on every attempt.',
    timestamp,
  ),
  StandardWebhookId: header(
    'webhook-id',
    'The event, the same on every attempt and replay: tell duplicates by it. (Standard Webhooks 1.0)',
    eventId,
  ),
  StandardWebhookTimestamp: header('webhook-timestamp', 'Unix seconds of this attempt.', '1774949213'),
  StandardWebhookSignature: header(
    'webhook-signature',
    'Standard Webhooks signatures over `id.timestamp.body`, separated by spaces while a secret is being rotated.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
};
