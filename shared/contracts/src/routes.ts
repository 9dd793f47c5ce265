// Every route of the public interface, as data. Routing, the scope check, 405 with Allow, the OpenAPI document
// and the table in docs/api.md are all made from this one list.
import { Type, type TObject, type TProperties, type TSchema } from 'typebox';
import { Batch, DdsEntry } from './batches.ts';
import { limits } from './limits.ts';
import { detailedEntityOf, listingOf } from './listings.ts';
import { BatchPlanAnswer, PlanAnswer } from './plans.ts';
import { Product } from './products.ts';
import { BatchPushAnswer, entityTypes, PushAnswer, SyncRun, SyncRunInFull } from './pushes.ts';
import { scopes, type Scope } from './scopes.ts';
import { subjects, type RequestSubject } from './subjects.ts';
import { Supplier } from './suppliers.ts';
import {
  ChangeWebhook,
  DeliveryAttempt,
  RegisteredWebhook,
  RegisterWebhook,
  ReplayAnswer,
  ReplayEvents,
  RotatedWebhook,
  RotateSecret,
  TestResult,
  Webhook,
} from './webhooks.ts';

export const basePath = '/api/v1/integration';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface QueryParameter {
  name: string;
  schema: TSchema;
  description: string;
}

export interface Route {
  method: Method;
  /** Full path; `{id}` stands for one segment. */
  path: string;
  operationId: string;
  tag: 'Suppliers' | 'Products' | 'Batches' | 'Sync runs' | 'Webhooks';
  summary: string;
  description?: string;
  scope: Scope;
  subject: RequestSubject;
  /** The JSON body that the route takes. Without it, none is read. */
  body?: { schema: TObject; example: unknown; optional?: true };
  query?: readonly QueryParameter[];
  /** Whether the body holds items, of which there can be too many. */
  takesItems?: true;
  answer: {
    status: 200 | 201 | 202 | 204;
    schema?: TSchema;
    example?: unknown;
    headers?: readonly AnswerHeader[];
  };
  /** Whether the answer can be `not_found`, because the path names one thing. */
  names?: 'webhook' | 'sync run';
  /** Whether the answer can be `conflict`. */
  conflicts?: true;
  /** How long the service may take before the gateway answers 504. */
  timeoutMs: number;
}

export type AnswerHeader = 'X-Sync-Id' | 'X-Next-Since' | 'Link' | 'Location';

const pushTimeoutMs = 30_000;
const listTimeoutMs = 10_000;
const manageTimeoutMs = 10_000;
/** A test waits for its receiver's whole 10 s. */
const testTimeoutMs = 15_000;

const page: QueryParameter = {
  name: 'page',
  schema: Type.Integer({ minimum: 1, default: limits.pageDefault }),
  description: 'Which page, from 1',
};
const limit: QueryParameter = {
  name: 'limit',
  schema: Type.Integer({ minimum: 1, default: limits.pageSizeDefault }),
  description: `Entities per page; more than ${limits.pageSizeMax} is taken as ${limits.pageSizeMax}`,
};
const since: QueryParameter = {
  name: 'since',
  schema: Type.String(),
  description: 'Only what was synced after this time: a day, or a date-time with Z or an offset',
};
const cursor: QueryParameter = {
  name: 'cursor',
  schema: Type.String(),
  description: 'Where the answer before ended, from its Link header; costs the same however deep it goes',
};

const until: QueryParameter = {
  name: 'until',
  schema: Type.String(),
  description: 'Only what was last synced at this time or before; may stand beside `since`',
};
const externalIds: QueryParameter = {
  name: 'externalId',
  schema: Type.Array(Type.String(), { maxItems: limits.idsListedMax }),
  description: `Only this record; may be repeated up to ${limits.idsListedMax} times. One that is not there is absent from the answer`,
};
const details: QueryParameter = {
  name: 'details',
  schema: Type.Boolean({ default: false }),
  description:
    'Whether each entity also has `details`: what the record holds, as it would be pushed, and by which pushes. ' +
    'Such a page ends at 4 MiB and may be shorter than `limit`; follow `Link`',
};

const syncedAt = '2026-03-31T09:26:53.589Z';
const id = (name: string): string => `${basePath}/webhook-events/{id}${name}`;

interface RecordKind {
  plural: 'suppliers' | 'products' | 'batches';
  tag: Route['tag'];
  name: 'Supplier' | 'Product' | 'Batch';
  item: TObject;
  /** What `details` says of the record that this one refers to. */
  linked: TProperties;
  example: Record<string, unknown> & { externalId: string };
  listedAs: string;
  internalId: string;
  write: Scope;
  read: Scope;
  push: RequestSubject;
  plan: RequestSubject;
  list: RequestSubject;
}

function pushRoute(kind: RecordKind): Route {
  const isBatch = kind.plural === 'batches';
  const items = Type.Array(kind.item, { description: `At most ${limits.itemsPerPushMax} items` });
  const flag = Type.Boolean({
    default: false,
    description: 'Draft a due-diligence statement for each batch that has none',
  });
  const title = `Push${kind.tag}`;
  return {
    method: 'POST',
    path: `${basePath}/${kind.plural}`,
    operationId: `push${kind.tag}`,
    tag: kind.tag,
    summary: `Create or update up to ${limits.itemsPerPushMax} ${kind.plural}`,
    description:
      'Records are matched by externalId. A wrong item becomes that item’s ERROR and leaves its neighbours alone; ' +
      'fields that are absent keep their value, and null clears an optional one.',
    scope: kind.write,
    subject: kind.push,
    takesItems: true,
    body: {
      schema: isBatch
        ? Type.Object({ batches: items, autoCreateDDS: Type.Optional(flag) }, { title })
        : Type.Object({ [kind.plural]: items }, { title }),
      example: { [kind.plural]: [kind.example], ...(isBatch ? { autoCreateDDS: false } : {}) },
    },
    answer: {
      status: 200,
      schema: isBatch ? BatchPushAnswer : PushAnswer,
      example: {
        success: true,
        created: 1,
        updated: 0,
        errors: [],
        records: [{ externalId: kind.example.externalId, internalId: kind.internalId, status: 'CREATED' }],
        ...(isBatch ? { ddsCreated: [] } : {}),
      },
      headers: ['X-Sync-Id'],
    },
    timeoutMs: pushTimeoutMs,
  };
}

function planRoute(kind: RecordKind): Route {
  const { body } = pushRoute(kind);
  const isBatch = kind.plural === 'batches';
  const assume = Type.Array(Type.String(), {
    maxItems: limits.itemsPerPushMax,
    description:
      'externalIds of referenced records to take as there, such as those that would be pushed before',
  });
  const properties = { ...body?.schema.properties, assume: Type.Optional(assume) };
  const example = {
    success: true,
    created: 1,
    updated: 0,
    errors: [],
    records: [{ externalId: kind.example.externalId, internalId: kind.internalId, status: 'CREATED' }],
    ...(isBatch ? { ddsCreated: [] } : {}),
    unchanged: 0,
    details: [{ index: 0, action: 'created', changedFields: [], problems: [] }],
  };
  return {
    method: 'POST',
    path: `${basePath}/${kind.plural}/plan`,
    operationId: `plan${kind.tag}`,
    tag: kind.tag,
    summary: `Say what a push of up to ${limits.itemsPerPushMax} ${kind.plural} would do, and do nothing`,
    description:
      'Takes the body of the push and answers what the push would answer now, and what would become of each item. ' +
      'Nothing is written, counted or announced.',
    scope: kind.write,
    subject: kind.plan,
    takesItems: true,
    body: {
      schema: Type.Object(properties, { title: `Plan${kind.tag}` }),
      example: { [kind.plural]: [kind.example], assume: [] },
    },
    answer: { status: 200, schema: isBatch ? BatchPlanAnswer : PlanAnswer, example },
    timeoutMs: pushTimeoutMs,
  };
}

function listRoute(kind: RecordKind): Route {
  return {
    method: 'GET',
    path: `${basePath}/${kind.plural}`,
    operationId: `list${kind.tag}`,
    tag: kind.tag,
    summary: `List the ${kind.plural} that were synced`,
    scope: kind.read,
    subject: kind.list,
    query: [page, limit, since, until, externalIds, details, cursor],
    answer: {
      status: 200,
      schema: listingOf(detailedEntityOf(kind.item, kind.linked, `Listed${kind.name}`), `${kind.tag}Listing`),
      example: {
        entities: [
          {
            externalId: kind.example.externalId,
            internalId: kind.internalId,
            name: kind.listedAs,
            syncStatus: 'SYNCED',
            lastSyncedAt: syncedAt,
          },
        ],
        total: 1,
        page: 1,
        limit: 50,
      },
      headers: ['X-Next-Since', 'Link'],
    },
    timeoutMs: listTimeoutMs,
  };
}

const linkedId = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description });

const supplierKind: RecordKind = {
  plural: 'suppliers',
  tag: 'Suppliers',
  name: 'Supplier',
  item: Supplier,
  linked: {},
  example: {
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
  listedAs: 'Nordic Timber AB',
  internalId: 'sup_3f1c0a52b7d94e6f8a21c5d07e9b4413',
  write: scopes.suppliersWrite,
  read: scopes.suppliersRead,
  push: subjects.suppliersPush,
  plan: subjects.suppliersPlan,
  list: subjects.suppliersList,
};

const productKind: RecordKind = {
  plural: 'products',
  tag: 'Products',
  name: 'Product',
  item: Product,
  linked: { supplierInternalId: linkedId('The supplier that `supplierExternalId` names; null for none') },
  example: {
    externalId: 'PROD-001',
    name: 'Oak Board 20mm',
    category: 'Timber',
    country: 'SE',
    hsCode: '4407.91',
    unit: 'pcs',
    code: 'OB-20',
    supplierExternalId: 'SUP-001',
  },
  listedAs: 'Oak Board 20mm',
  internalId: 'prd_8b7e2d4c19f04a3bb6509e1f7c2a8d36',
  write: scopes.productsWrite,
  read: scopes.productsRead,
  push: subjects.productsPush,
  plan: subjects.productsPlan,
  list: subjects.productsList,
};

const batchKind: RecordKind = {
  plural: 'batches',
  tag: 'Batches',
  name: 'Batch',
  item: Batch,
  linked: { productInternalId: linkedId('The product that `productExternalId` names') },
  example: {
    externalId: 'BATCH-2026-001',
    productExternalId: 'PROD-001',
    batchNumber: 'LOT-4711',
    quantity: 1250,
    unit: 'kg',
    receivedDate: '2026-03-31',
    expiryDate: '2027-03-31',
  },
  listedAs: 'LOT-4711',
  internalId: 'bat_5c9d1e7fa0324b88937d6e20f41ab57c',
  write: scopes.batchesWrite,
  read: scopes.batchesRead,
  push: subjects.batchesPush,
  plan: subjects.batchesPlan,
  list: subjects.batchesList,
};

const webhookExample = {
  id: 'wh_6d0f5b1a2c3e4f708192a3b4c5d6e7f8',
  url: 'https://erp.example.com/hooks/sync',
  events: ['supplier.created', 'sync.completed'],
  active: true,
  createdAt: syncedAt,
};
const fullWebhookExample = {
  ...webhookExample,
  disabledAt: null,
  disabledReason: null,
  consecutiveFailures: 0,
};
const secretExample = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';

const ddsExample = {
  ddsId: 'dds_1f2e3d4c5b6a79880716253443526170',
  batchExternalId: 'BATCH-2026-001',
  batchInternalId: batchKind.internalId,
  status: 'DRAFT',
  hsCode: '4407.91',
  countryOfProduction: 'SE',
  quantity: 1250,
  unit: 'kg',
  referenceNumber: null,
  verificationNumber: null,
  missing: [
    'referenceNumber',
    'verificationNumber',
    'geolocation',
    'operator',
    'productionPeriod',
    'riskAssessment',
  ],
};

const runExample = {
  syncId: 'sync_0195eb7a3f21c4d8e09b6a5f3c2d1e40',
  entityType: 'supplier',
  state: 'completed',
  created: 1,
  updated: 0,
  unchanged: 0,
  failed: 0,
  startedAt: syncedAt,
  completedAt: '2026-03-31T09:26:53.641Z',
};

const otherRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${basePath}/dds`,
    operationId: 'listDds',
    tag: 'Batches',
    summary: 'List the due-diligence statements that were drafted',
    scope: scopes.batchesRead,
    subject: subjects.ddsList,
    query: [page, limit, since, cursor],
    answer: {
      status: 200,
      schema: listingOf(DdsEntry, 'DdsListing'),
      example: { entities: [ddsExample], total: 1, page: 1, limit: 50 },
      headers: ['X-Next-Since', 'Link'],
    },
    timeoutMs: listTimeoutMs,
  },
  {
    method: 'GET',
    path: `${basePath}/sync-runs`,
    operationId: 'listSyncRuns',
    tag: 'Sync runs',
    summary: 'List the pushes of the last 7 days, newest first',
    scope: scopes.syncsRead,
    subject: subjects.catalogRunsList,
    query: [
      page,
      limit,
      {
        ...since,
        description: 'Only pushes that began after this time: a day, or a date-time with Z or an offset',
      },
      cursor,
      {
        name: 'entityType',
        schema: Type.Unsafe<string>({ type: 'string', enum: [...entityTypes] }),
        description: 'Only pushes of this kind',
      },
      {
        name: 'failed',
        schema: Type.Unsafe<boolean>({ type: 'boolean', enum: [true] }),
        description: 'Only pushes of which an item failed',
      },
    ],
    answer: {
      status: 200,
      schema: listingOf(SyncRun, 'SyncRunListing'),
      example: {
        entities: [runExample],
        total: 1,
        page: 1,
        limit: 50,
      },
      headers: ['Link'],
    },
    timeoutMs: listTimeoutMs,
  },
  {
    method: 'GET',
    path: `${basePath}/sync-runs/{id}`,
    operationId: 'getSyncRun',
    tag: 'Sync runs',
    summary: 'One push of the last 7 days, with what was wrong with its items',
    scope: scopes.syncsRead,
    subject: subjects.catalogRunsGet,
    names: 'sync run',
    answer: {
      status: 200,
      schema: SyncRunInFull,
      example: {
        ...runExample,
        created: 1,
        failed: 1,
        errors: [{ index: 1, externalId: 'SUP-002', error: 'Supplier name is required' }],
        errorsOmitted: 0,
      },
    },
    timeoutMs: listTimeoutMs,
  },
  {
    method: 'POST',
    path: `${basePath}/webhook-events`,
    operationId: 'registerWebhook',
    tag: 'Webhooks',
    summary: 'Register a webhook',
    scope: scopes.webhooksWrite,
    subject: subjects.endpointsRegister,
    conflicts: true,
    body: { schema: RegisterWebhook, example: { url: webhookExample.url, events: webhookExample.events } },
    answer: {
      status: 201,
      schema: RegisteredWebhook,
      example: { ...webhookExample, secret: secretExample },
      headers: ['Location'],
    },
    timeoutMs: manageTimeoutMs,
  },
  {
    method: 'GET',
    path: `${basePath}/webhook-events`,
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List the registered webhooks',
    scope: scopes.webhooksRead,
    subject: subjects.endpointsList,
    query: [page, limit, cursor],
    answer: {
      status: 200,
      schema: listingOf(Webhook, 'WebhookListing'),
      example: { entities: [fullWebhookExample], total: 1, page: 1, limit: 50 },
      headers: ['Link'],
    },
    timeoutMs: listTimeoutMs,
  },
  {
    method: 'GET',
    path: id(''),
    operationId: 'getWebhook',
    tag: 'Webhooks',
    summary: 'Read one webhook',
    scope: scopes.webhooksRead,
    subject: subjects.endpointsGet,
    names: 'webhook',
    answer: { status: 200, schema: Webhook, example: fullWebhookExample },
    timeoutMs: listTimeoutMs,
  },
  {
    method: 'PATCH',
    path: id(''),
    operationId: 'changeWebhook',
    tag: 'Webhooks',
    summary: 'Change a webhook’s url or events, pause it or resume it',
    scope: scopes.webhooksWrite,
    subject: subjects.endpointsChange,
    names: 'webhook',
    body: { schema: ChangeWebhook, example: { active: true } },
    answer: { status: 200, schema: Webhook, example: fullWebhookExample },
    timeoutMs: manageTimeoutMs,
  },
  {
    method: 'DELETE',
    path: id(''),
    operationId: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    scope: scopes.webhooksWrite,
    subject: subjects.endpointsRemove,
    names: 'webhook',
    answer: { status: 204 },
    timeoutMs: manageTimeoutMs,
  },
  {
    method: 'POST',
    path: id('/rotate-secret'),
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Give a webhook a new secret, the previous one serving on for a while',
    scope: scopes.webhooksWrite,
    subject: subjects.endpointsRotate,
    names: 'webhook',
    conflicts: true,
    body: { schema: RotateSecret, example: { gracePeriodSeconds: 3600 }, optional: true },
    answer: {
      status: 200,
      schema: RotatedWebhook,
      example: {
        ...fullWebhookExample,
        secret: secretExample,
        previousSecretExpiresAt: '2026-03-31T10:26:53.589Z',
      },
    },
    timeoutMs: manageTimeoutMs,
  },
  {
    method: 'POST',
    path: id('/test'),
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test delivery now and tell what the receiver said',
    scope: scopes.webhooksWrite,
    subject: subjects.endpointsTest,
    names: 'webhook',
    answer: {
      status: 200,
      schema: TestResult,
      example: { delivered: true, responseStatus: 204, durationMs: 41, error: null },
    },
    timeoutMs: testTimeoutMs,
  },
  {
    method: 'GET',
    path: id('/deliveries'),
    operationId: 'listDeliveries',
    tag: 'Webhooks',
    summary: 'Read a webhook’s attempt log, newest first',
    scope: scopes.webhooksRead,
    subject: subjects.deliveriesList,
    names: 'webhook',
    query: [
      page,
      limit,
      since,
      cursor,
      {
        name: 'outcome',
        schema: Type.Unsafe<string>({ type: 'string', enum: ['succeeded', 'failed'] }),
        description: 'Only attempts that ended so',
      },
      { name: 'event', schema: Type.String(), description: 'Only attempts of this kind of event' },
    ],
    answer: {
      status: 200,
      schema: listingOf(DeliveryAttempt, 'DeliveryListing'),
      example: {
        entities: [
          {
            eventId: 'sync_0195eb7a3f21c4d8e09b6a5f3c2d1e40-created-0',
            event: 'supplier.created',
            attempt: 1,
            at: syncedAt,
            outcome: 'succeeded',
            responseStatus: 204,
            durationMs: 41,
            error: null,
            nextAttemptAt: null,
          },
        ],
        total: 1,
        page: 1,
        limit: 50,
      },
      headers: ['X-Next-Since', 'Link'],
    },
    timeoutMs: listTimeoutMs,
  },
  {
    method: 'POST',
    path: id('/replay'),
    operationId: 'replayWebhookEvents',
    tag: 'Webhooks',
    summary: 'Send the events of a span of time again',
    scope: scopes.webhooksWrite,
    subject: subjects.endpointsReplay,
    names: 'webhook',
    conflicts: true,
    body: { schema: ReplayEvents, example: { since: syncedAt, events: ['supplier.created'] } },
    answer: { status: 202, schema: ReplayAnswer, example: { queued: 12 } },
    timeoutMs: pushTimeoutMs,
  },
];

export const routes: readonly Route[] = [
  ...[supplierKind, productKind, batchKind].flatMap((kind) => [
    pushRoute(kind),
    planRoute(kind),
    listRoute(kind),
  ]),
  ...otherRoutes,
];
