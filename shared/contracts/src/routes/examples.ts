// The examples of the OpenAPI document: requests, answers and deliveries show the same few records.
import type { DdsEntry } from '../batches.ts';
import type { Expectations } from '../expectations.ts';
import type { EventPage } from '../feed.ts';
import type { SyncRun } from '../pushes.ts';
import type { DeliveryAttempt, DrillResult, EventDelivery, RegisteredWebhook, Webhook } from '../webhooks.ts';

export const syncedAtExample = '2026-03-31T09:26:53.589Z';

export interface RecordExample {
  /** The record as a caller pushes it. */
  item: Readonly<Record<string, unknown>> & { readonly externalId: string };
  internalId: string;
}

export const supplierExample: RecordExample = {
  item: {
    externalId: 'SUP-001',
    name: 'Nordic Timber AB',
    code: 'V-1042',
    country: 'SE',
    address: 'Hamngatan 1, 111 47 Stockholm',
    contactPerson: 'Anna Lind',
    email: 'anna@nordictimber.example',
    phone: '+46 8 123 456',
    certifications: ['FSC', 'PEFC'],
    isEuOrigin: true,
  },
  internalId: 'sup_3f1c0a52b7d94e6f8a21c5d07e9b4413',
};

export const productExample: RecordExample = {
  item: {
    externalId: 'PROD-001',
    name: 'Oak Board 20mm',
    category: 'Timber',
    country: 'SE',
    hsCode: '4407.91',
    unit: 'pcs',
    code: 'OB-20',
    supplierExternalId: 'SUP-001',
  },
  internalId: 'prd_8b7e2d4c19f04a3bb6509e1f7c2a8d36',
};

export const batchExample: RecordExample = {
  item: {
    externalId: 'BATCH-2026-001',
    productExternalId: 'PROD-001',
    batchNumber: 'LOT-4711',
    quantity: 1250,
    unit: 'kg',
    receivedDate: '2026-03-31',
    expiryDate: '2027-03-31',
  },
  internalId: 'bat_5c9d1e7fa0324b88937d6e20f41ab57c',
};

export const ddsExample: DdsEntry = {
  ddsId: 'dds_1f2e3d4c5b6a79880716253443526170',
  batchExternalId: batchExample.item.externalId,
  batchInternalId: batchExample.internalId,
  status: 'DRAFT',
  hsCode: '4407.91',
  countryOfProduction: 'SE',
  quantity: 1250,
  unit: 'kg',
  referenceNumber: null,
  verificationNumber: null,
  missing: ['referenceNumber'],
};

/** The statement `ddsExample` after a push of its batch with the missing numbers. */
export const referencedExample: DdsEntry = {
  ...ddsExample,
  status: 'REFERENCED',
  referenceNumber: '26DE4711ABCD12',
  verificationNumber: 'V7K2M9QX',
  missing: [],
};

export const runExample = {
  syncId: 'sync_0195eb7a3f21c4d8e09b6a5f3c2d1e40',
  entityType: 'supplier',
  action: 'push',
  state: 'completed',
  created: 1,
  updated: 0,
  unchanged: 0,
  failed: 0,
  startedAt: syncedAtExample,
  completedAt: '2026-03-31T09:26:53.641Z',
  client: 'erp',
} as const satisfies SyncRun;

export const expectationsExample: Expectations = {
  suppliers: null,
  products: {
    everyHours: 26,
    lastPushAt: syncedAtExample,
    dueAt: '2026-04-01T11:26:53.589Z',
    isOverdue: false,
  },
  batches: null,
};

/** The sync id in the example headers of answers and of deliveries. */
export const announcedSyncIdExample = 'sync_019d42e3f4c59a1b7c3d5e6f708192a3';

const registered = {
  id: 'wh_6d0f5b1a2c3e4f708192a3b4c5d6e7f8',
  url: 'https://erp.example.com/hooks/sync',
  events: ['supplier.created', 'sync.completed'],
  active: true,
  createdAt: syncedAtExample,
};
export const secretExample = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';

export const registeredWebhookExample: RegisteredWebhook = { ...registered, secret: secretExample };

export const webhookExample: Webhook = {
  ...registered,
  disabledAt: null,
  disabledReason: null,
  consecutiveFailures: 0,
};

export const attemptExample: DeliveryAttempt = {
  eventId: `${runExample.syncId}-created-0`,
  event: 'supplier.created',
  attempt: 1,
  at: syncedAtExample,
  outcome: 'succeeded',
  responseStatus: 204,
  durationMs: 41,
  error: null,
  nextAttemptAt: null,
};

const eventExample = {
  event: 'supplier.created',
  timestamp: syncedAtExample,
  integrationId: 'acme',
  data: { externalId: supplierExample.item.externalId, internalId: supplierExample.internalId },
};

export const feedExample: EventPage = {
  events: [{ id: `${announcedSyncIdExample}-created-0`, ...eventExample }],
  next: 'q0Zt8s3yq1c2U0b7l5cE9lsiMjAyNi0wMy0zMVQwOToyNjo1My41ODlaIiw0NzEyLDBd',
  more: false,
};

export const deliveryExample: EventDelivery = {
  eventId: attemptExample.eventId,
  event: attemptExample.event,
  body: JSON.stringify(eventExample),
  attempts: [
    {
      ...attemptExample,
      outcome: 'failed',
      responseStatus: 500,
      error: 'the receiver answered 500',
      nextAttemptAt: '2026-03-31T09:26:54.630Z',
      responseBody: 'Internal Server Error',
    },
  ],
};

/** A drill's result, with two of its twelve checks. */
export const drillExample: DrillResult = {
  passed: false,
  checks: [
    { name: 'first-delivery', expected: '2xx', answered: 204, tookMs: 41, passed: true, advice: null },
    {
      name: 'no-signature',
      expected: '4xx',
      answered: 204,
      tookMs: 3,
      passed: false,
      advice: 'This delivery has no signature: refuse it with 4xx.',
    },
  ],
};

/** A listing of one entity. */
export const listingExample = (entity: object) => ({ entities: [entity], total: 1, page: 1, limit: 50 });
