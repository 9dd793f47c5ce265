// npm run generate writes this file: the types of requests and answers, from the schemas of the API.

export interface Supplier {
  /** Unique identifier in the caller's system; the upsert key */
  externalId: string;
  /** Supplier or vendor name */
  name: string;
  /** Vendor number or code */
  code?: string | null | undefined;
  /** ISO 3166-1 alpha-2 country code */
  country?: string | null | undefined;
  /** Full address */
  address?: string | null | undefined;
  /** Primary contact name */
  contactPerson?: string | null | undefined;
  /** Contact email */
  email?: string | null | undefined;
  /** Contact phone */
  phone?: string | null | undefined;
  /** List of certifications */
  certifications?: string[] | null | undefined;
  /** Whether the supplier is EU-based */
  isEuOrigin?: boolean | null | undefined;
}

export interface PushSuppliers {
  /** At most 500 items */
  suppliers: Supplier[];
}

export interface PushError {
  externalId: string;
  /** The error in words, for a person */
  error: string;
}

export interface PushRecord {
  /** Echo of the pushed item's externalId */
  externalId: string;
  /** Identifier assigned by the service; empty when status is ERROR */
  internalId: string;
  status: 'CREATED' | 'UPDATED' | 'ERROR';
}

export interface ItemDetails {
  /** The index of the item in the pushed array */
  index: number;
  action: 'created' | 'updated' | 'unchanged' | 'failed';
  /** Names of the fields that an `updated` item changes; empty for other items */
  changedFields: string[];
  problems: {
    /** JSON Pointer (RFC 6901) into the body */
    pointer: string;
    code: 'required' | 'wrong_value' | 'not_an_object' | 'reference_not_found' | 'unknown_field';
    /** The error in words, for a person */
    detail: string;
  }[];
  /** Pointers to the first 10 unknown fields of the item; with `handling=strict` they are problems instead */
  ignored: string[];
}

export interface PushAnswer {
  /** True when no item failed */
  success: boolean;
  created: number;
  /** How many items named a record that existed already, even if the item changed nothing */
  updated: number;
  errors: PushError[];
  /** One entry for each pushed item, in the order of the items */
  records: PushRecord[];
  /** How many of the `updated` items change nothing */
  unchanged?: number | undefined;
  /** One entry for each item, in the order of the body */
  details?: ItemDetails[] | undefined;
}

export interface PlanSuppliers {
  /** At most 500 items */
  suppliers: Supplier[];
  /** externalIds of referenced records that the plan treats as existing, as if they were pushed before */
  assume?: string[] | undefined;
}

export interface PlanAnswer {
  /** True when no item failed */
  success: boolean;
  created: number;
  /** How many items named a record that existed already, even if the item changed nothing */
  updated: number;
  errors: PushError[];
  /** One entry for each pushed item, in the order of the items */
  records: PushRecord[];
  /** How many of the `updated` items change nothing */
  unchanged: number;
  /** One entry for each item, in the order of the body */
  details: ItemDetails[];
}

export interface SupplierFields {
  /** Supplier or vendor name */
  name?: string | undefined;
  /** Vendor number or code */
  code?: string | null | undefined;
  /** ISO 3166-1 alpha-2 country code */
  country?: string | null | undefined;
  /** Full address */
  address?: string | null | undefined;
  /** Primary contact name */
  contactPerson?: string | null | undefined;
  /** Contact email */
  email?: string | null | undefined;
  /** Contact phone */
  phone?: string | null | undefined;
  /** List of certifications */
  certifications?: string[] | null | undefined;
  /** Whether the supplier is EU-based */
  isEuOrigin?: boolean | null | undefined;
}

export interface SupplierDetails {
  /** The fields of the record, as in a push; a field that the record does not have is absent */
  fields: SupplierFields;
  /** syncId of the push that created the record */
  createdBy: string;
  /** syncId of the push that last changed the record, or created it */
  changedBy: string;
  /** Time of the last change, UTC, to the millisecond; `changedSince` compares this time */
  changedAt: string;
}

export interface ListedSupplier {
  /** Caller's identifier; empty for an erased record */
  externalId: string;
  /** Service identifier */
  internalId: string;
  /** Record name; for a batch, its batch number */
  name: string;
  /** SYNCED, ARCHIVED or ERASED; other values may be added */
  syncStatus: string;
  /** Time of the last sync, UTC, to the millisecond */
  lastSyncedAt: string;
  /** Only with `details=true` */
  details?: SupplierDetails | undefined;
}

export interface SuppliersListing {
  entities: ListedSupplier[];
  total: number;
  page: number;
  limit: number;
}

export interface Product {
  /** Unique identifier in the caller's system; the upsert key */
  externalId: string;
  /** Product name */
  name: string;
  /** Product category */
  category?: string | null | undefined;
  /** Country of origin, ISO 3166-1 alpha-2 or alpha-3 code */
  country?: string | null | undefined;
  /** HS/tariff code used for classification */
  hsCode?: string | null | undefined;
  /** Unit of measure (for example kg, pcs) */
  unit?: string | null | undefined;
  /** Product number or SKU */
  code?: string | null | undefined;
  /** Links the product to a synced supplier by its externalId */
  supplierExternalId?: string | null | undefined;
}

export interface PushProducts {
  /** At most 500 items */
  products: Product[];
}

export interface PlanProducts {
  /** At most 500 items */
  products: Product[];
  /** externalIds of referenced records that the plan treats as existing, as if they were pushed before */
  assume?: string[] | undefined;
}

export interface ProductFields {
  /** Product name */
  name: string;
  /** Product category */
  category?: string | null | undefined;
  /** Country of origin, ISO 3166-1 alpha-2 or alpha-3 code */
  country?: string | null | undefined;
  /** HS/tariff code used for classification */
  hsCode?: string | null | undefined;
  /** Unit of measure (for example kg, pcs) */
  unit?: string | null | undefined;
  /** Product number or SKU */
  code?: string | null | undefined;
  /** Links the product to a synced supplier by its externalId */
  supplierExternalId?: string | null | undefined;
}

export interface ProductDetails {
  /** The fields of the record, as in a push; a field that the record does not have is absent */
  fields: ProductFields;
  /** syncId of the push that created the record */
  createdBy: string;
  /** syncId of the push that last changed the record, or created it */
  changedBy: string;
  /** Time of the last change, UTC, to the millisecond; `changedSince` compares this time */
  changedAt: string;
  /** internalId of the supplier, or null */
  supplierInternalId: string | null;
}

export interface ListedProduct {
  /** Caller's identifier; empty for an erased record */
  externalId: string;
  /** Service identifier */
  internalId: string;
  /** Record name; for a batch, its batch number */
  name: string;
  /** SYNCED, ARCHIVED or ERASED; other values may be added */
  syncStatus: string;
  /** Time of the last sync, UTC, to the millisecond */
  lastSyncedAt: string;
  /** Only with `details=true` */
  details?: ProductDetails | undefined;
}

export interface ProductsListing {
  entities: ListedProduct[];
  total: number;
  page: number;
  limit: number;
}

export interface Batch {
  /** Unique batch identifier in the caller's system; the upsert key */
  externalId: string;
  /** externalId of the parent product, which must already be synced */
  productExternalId: string;
  /** Batch or lot number */
  batchNumber: string;
  /** Quantity received */
  quantity?: number | null | undefined;
  /** Unit of measure */
  unit?: string | null | undefined;
  /** Date the batch was received */
  receivedDate?: string | null | undefined;
  /** Batch expiry date */
  expiryDate?: string | null | undefined;
  /** Reference number of the due-diligence statement; clearing it clears the verification number too */
  ddsReferenceNumber?: string | null | undefined;
  /** Verification number of the due-diligence statement; only in an item with the reference number */
  ddsVerificationNumber?: string | null | undefined;
}

export interface PushBatches {
  /** At most 500 items */
  batches: Batch[];
  /** Draft a due-diligence statement for each batch that has none */
  autoCreateDDS?: boolean | undefined;
}

export interface DdsEntry {
  ddsId: string;
  batchExternalId: string;
  batchInternalId: string;
  /** REFERENCED while the batch has a reference number; other values may be added */
  status: 'DRAFT' | 'REFERENCED';
  /** The product's HS code when the statement was made */
  hsCode: string | null;
  /** The product's country when the statement was made */
  countryOfProduction: string | null;
  /** The batch's quantity when the statement was made */
  quantity: number | null;
  /** The batch's unit of measure when the statement was made */
  unit: string | null;
  /** The batch's `ddsReferenceNumber` */
  referenceNumber: string | null;
  /** The batch's `ddsVerificationNumber` */
  verificationNumber: string | null;
  /** Fields that a draft lacks and later pushes can give; empty once the status is REFERENCED */
  missing: string[];
}

export interface BatchPushAnswer {
  /** True when no item failed */
  success: boolean;
  created: number;
  /** How many items named a record that existed already, even if the item changed nothing */
  updated: number;
  errors: PushError[];
  /** One entry for each pushed item, in the order of the items */
  records: PushRecord[];
  ddsCreated: DdsEntry[];
  /** How many of the `updated` items change nothing */
  unchanged?: number | undefined;
  /** One entry for each item, in the order of the body */
  details?: ItemDetails[] | undefined;
}

export interface PlanBatches {
  /** At most 500 items */
  batches: Batch[];
  /** Draft a due-diligence statement for each batch that has none */
  autoCreateDDS?: boolean | undefined;
  /** externalIds of referenced records that the plan treats as existing, as if they were pushed before */
  assume?: string[] | undefined;
}

export interface BatchPlanAnswer {
  /** True when no item failed */
  success: boolean;
  created: number;
  /** How many items named a record that existed already, even if the item changed nothing */
  updated: number;
  errors: PushError[];
  /** One entry for each pushed item, in the order of the items */
  records: PushRecord[];
  ddsCreated: DdsEntry[];
  /** How many of the `updated` items change nothing */
  unchanged: number;
  /** One entry for each item, in the order of the body */
  details: ItemDetails[];
}

export interface BatchFields {
  /** externalId of the parent product, which must already be synced */
  productExternalId: string;
  /** Batch or lot number */
  batchNumber: string;
  /** Quantity received */
  quantity?: number | null | undefined;
  /** Unit of measure */
  unit?: string | null | undefined;
  /** Date the batch was received */
  receivedDate?: string | null | undefined;
  /** Batch expiry date */
  expiryDate?: string | null | undefined;
  /** Reference number of the due-diligence statement; clearing it clears the verification number too */
  ddsReferenceNumber?: string | null | undefined;
  /** Verification number of the due-diligence statement; only in an item with the reference number */
  ddsVerificationNumber?: string | null | undefined;
}

export interface BatchDetails {
  /** The fields of the record, as in a push; a field that the record does not have is absent */
  fields: BatchFields;
  /** syncId of the push that created the record */
  createdBy: string;
  /** syncId of the push that last changed the record, or created it */
  changedBy: string;
  /** Time of the last change, UTC, to the millisecond; `changedSince` compares this time */
  changedAt: string;
  /** internalId of the product of the batch */
  productInternalId: string | null;
}

export interface ListedBatch {
  /** Caller's identifier; empty for an erased record */
  externalId: string;
  /** Service identifier */
  internalId: string;
  /** Record name; for a batch, its batch number */
  name: string;
  /** SYNCED, ARCHIVED or ERASED; other values may be added */
  syncStatus: string;
  /** Time of the last sync, UTC, to the millisecond */
  lastSyncedAt: string;
  /** Only with `details=true` */
  details?: BatchDetails | undefined;
}

export interface BatchesListing {
  entities: ListedBatch[];
  total: number;
  page: number;
  limit: number;
}

export interface NamedRecords {
  /** At most 500. An id that names no record fails, and does not affect other ids */
  externalIds: string[];
}

export interface ArchiveAnswer {
  /** True when no id failed */
  success: boolean;
  /** How many of these records are archived now, including records that were archived before */
  archived: number;
  errors: PushError[];
  /** One entry for each id, in the order of `externalIds` */
  records: {
    /** Echo of the pushed item's externalId */
    externalId: string;
    /** Identifier assigned by the service; empty when status is ERROR */
    internalId: string;
    status: 'ARCHIVED' | 'ERROR';
  }[];
}

export interface EraseAnswer {
  /** True when no id failed */
  success: boolean;
  /** How many of these records are erased now, including records that were erased before */
  erased: number;
  errors: PushError[];
  /** One entry for each id, in the order of `externalIds` */
  records: {
    /** Echo of the pushed item's externalId */
    externalId: string;
    /** Identifier assigned by the service; empty when status is ERROR */
    internalId: string;
    status: 'ERASED' | 'ERROR';
  }[];
}

export interface DdsListing {
  entities: DdsEntry[];
  total: number;
  page: number;
  limit: number;
}

export interface SyncRun {
  syncId: string;
  entityType: 'supplier' | 'product' | 'batch';
  /** The kind of the request; other values may be added */
  action: 'push' | 'archive' | 'erase';
  state: 'running' | 'completed';
  created: number;
  updated: number;
  /** How many of the `updated` items changed nothing */
  unchanged: number;
  failed: number;
  startedAt: string;
  completedAt: string | null;
  /** The client that pushed, with its key or a token that its key fetched; null for any other token */
  client: string | null;
}

export interface SyncRunListing {
  entities: SyncRun[];
  total: number;
  page: number;
  limit: number;
}

export interface RunError {
  /** The index of the item in the pushed array */
  index: number;
  /** Empty if the item had no valid externalId */
  externalId: string;
  /** The error in words, for a person; truncated after 1,000 characters */
  error: string;
}

export interface SyncRunInFull {
  syncId: string;
  entityType: 'supplier' | 'product' | 'batch';
  /** The kind of the request; other values may be added */
  action: 'push' | 'archive' | 'erase';
  state: 'running' | 'completed';
  created: number;
  updated: number;
  /** How many of the `updated` items changed nothing */
  unchanged: number;
  failed: number;
  startedAt: string;
  completedAt: string | null;
  /** The client that pushed, with its key or a token that its key fetched; null for any other token */
  client: string | null;
  /** The first 100 items that failed */
  errors: RunError[];
  /** How many failed items `errors` leaves out */
  errorsOmitted: number;
}

export interface Expectations {
  /** How often pushes of the kind are expected; null without an expectation */
  suppliers: {
    /** Within how many hours after a push the next push of the kind is expected */
    everyHours: number;
    /** When the last push, archiving or erasing of the kind was answered 200; null if none is known */
    lastPushAt: string | null;
    /** Until when a push is expected: `everyHours` after the last push, or after the expectation was set */
    dueAt: string;
    /** Whether `dueAt` has passed without a push */
    isOverdue: boolean;
  } | null;
  /** How often pushes of the kind are expected; null without an expectation */
  products: {
    /** Within how many hours after a push the next push of the kind is expected */
    everyHours: number;
    /** When the last push, archiving or erasing of the kind was answered 200; null if none is known */
    lastPushAt: string | null;
    /** Until when a push is expected: `everyHours` after the last push, or after the expectation was set */
    dueAt: string;
    /** Whether `dueAt` has passed without a push */
    isOverdue: boolean;
  } | null;
  /** How often pushes of the kind are expected; null without an expectation */
  batches: {
    /** Within how many hours after a push the next push of the kind is expected */
    everyHours: number;
    /** When the last push, archiving or erasing of the kind was answered 200; null if none is known */
    lastPushAt: string | null;
    /** Until when a push is expected: `everyHours` after the last push, or after the expectation was set */
    dueAt: string;
    /** Whether `dueAt` has passed without a push */
    isOverdue: boolean;
  } | null;
}

export interface SetExpectations {
  /** How often pushes of the kind are expected; null ends the expectation, and an absent kind is not changed */
  suppliers?:
    | {
        /** Within how many hours after a push the next push of the kind is expected */
        everyHours: number;
      }
    | null
    | undefined;
  /** How often pushes of the kind are expected; null ends the expectation, and an absent kind is not changed */
  products?:
    | {
        /** Within how many hours after a push the next push of the kind is expected */
        everyHours: number;
      }
    | null
    | undefined;
  /** How often pushes of the kind are expected; null ends the expectation, and an absent kind is not changed */
  batches?:
    | {
        /** Within how many hours after a push the next push of the kind is expected */
        everyHours: number;
      }
    | null
    | undefined;
}

export interface RegisterWebhook {
  /** Where deliveries are posted to; https on port 443 */
  url: string;
  /** The kinds of events to deliver */
  events: (
    | 'supplier.created'
    | 'supplier.updated'
    | 'supplier.archived'
    | 'supplier.erased'
    | 'product.created'
    | 'product.updated'
    | 'product.archived'
    | 'batch.created'
    | 'batch.updated'
    | 'batch.archived'
    | 'dds.created'
    | 'dds.updated'
    | 'sync.completed'
    | 'sync.overdue'
    | 'webhook.disabled'
    | 'webhook.enabled'
  )[];
  /** What the webhook is for; null clears it */
  description?: string | null | undefined;
  /** Headers of each delivery, by name. They replace all earlier headers; null removes all, and so does a `url` of another origin. No answer shows their values */
  headers?: Record<string, string> | null | undefined;
  /** Whether a webhook that failures have disabled is tested from time to time, and enabled by the first 2xx */
  recover?: boolean | undefined;
  /** How many deliveries may be in flight concurrently, over all replicas; 1 means one at a time */
  inFlightMax?: number | undefined;
}

export interface RegisteredWebhook {
  /** Webhook identifier */
  id: string;
  url: string;
  events: string[];
  /** Whether deliveries are enabled */
  active: boolean;
  /** Signing secret; shown here and never again */
  secret: string;
  /** Creation time */
  createdAt: string;
}

export interface WebhookDetails {
  description: string | null;
  headerNames: string[];
  recover: boolean;
  inFlightMax: number;
}

export interface DetailedWebhook {
  /** Webhook identifier */
  id: string;
  url: string;
  events: string[];
  /** Whether deliveries are enabled */
  active: boolean;
  /** Creation time */
  createdAt: string;
  /** When deliveries stopped; null while active */
  disabledAt: string | null;
  disabledReason: 'failures' | 'gone' | 'manual' | null;
  consecutiveFailures: number;
  /** Only with `details=true` */
  details?: WebhookDetails | undefined;
}

export interface WebhookListing {
  entities: DetailedWebhook[];
  total: number;
  page: number;
  limit: number;
}

export interface ChangeWebhook {
  /** Where deliveries are posted to; https on port 443 */
  url?: string | undefined;
  /** The kinds of events to deliver */
  events?:
    | (
        | 'supplier.created'
        | 'supplier.updated'
        | 'supplier.archived'
        | 'supplier.erased'
        | 'product.created'
        | 'product.updated'
        | 'product.archived'
        | 'batch.created'
        | 'batch.updated'
        | 'batch.archived'
        | 'dds.created'
        | 'dds.updated'
        | 'sync.completed'
        | 'sync.overdue'
        | 'webhook.disabled'
        | 'webhook.enabled'
      )[]
    | undefined;
  /** false pauses deliveries, true resumes them */
  active?: boolean | undefined;
  /** What the webhook is for; null clears it */
  description?: string | null | undefined;
  /** Headers of each delivery, by name. They replace all earlier headers; null removes all, and so does a `url` of another origin. No answer shows their values */
  headers?: Record<string, string> | null | undefined;
  /** Whether a webhook that failures have disabled is tested from time to time, and enabled by the first 2xx */
  recover?: boolean | undefined;
  /** How many deliveries may be in flight concurrently, over all replicas; 1 means one at a time */
  inFlightMax?: number | undefined;
}

export interface Webhook {
  /** Webhook identifier */
  id: string;
  url: string;
  events: string[];
  /** Whether deliveries are enabled */
  active: boolean;
  /** Creation time */
  createdAt: string;
  /** When deliveries stopped; null while active */
  disabledAt: string | null;
  disabledReason: 'failures' | 'gone' | 'manual' | null;
  consecutiveFailures: number;
}

export interface RotateSecret {
  /** How long deliveries are signed with the previous secret too */
  gracePeriodSeconds?: number | undefined;
}

export interface RotatedWebhook {
  /** Webhook identifier */
  id: string;
  url: string;
  events: string[];
  /** Whether deliveries are enabled */
  active: boolean;
  /** Creation time */
  createdAt: string;
  /** When deliveries stopped; null while active */
  disabledAt: string | null;
  disabledReason: 'failures' | 'gone' | 'manual' | null;
  consecutiveFailures: number;
  /** Signing secret; shown here and never again */
  secret: string;
  /** Until when deliveries are signed with the previous secret too; null if they are not */
  previousSecretExpiresAt: string | null;
}

export interface TestResult {
  delivered: boolean;
  /** The HTTP status that the receiver answered with; null if no answer came */
  responseStatus: number | null;
  durationMs: number;
  /** Why the delivery failed; null after a success */
  error: string | null;
}

export interface DrillCheck {
  /** The name of the check, which docs/receiving-webhooks.md explains */
  name: string;
  expected: '2xx' | '4xx';
  /** The HTTP status that the receiver answered with; null if no answer came, or nothing was sent */
  answered: number | null;
  tookMs: number;
  passed: boolean;
  /** What to correct, and what happens otherwise; null if the check passed */
  advice: string | null;
}

export interface DrillResult {
  /** Whether each check passed */
  passed: boolean;
  checks: DrillCheck[];
}

export interface DeliveryAttempt {
  eventId: string;
  event: string;
  attempt: number;
  /** When the attempt was made */
  at: string;
  outcome: 'succeeded' | 'failed';
  /** The HTTP status that the receiver answered with; null if no answer came */
  responseStatus: number | null;
  durationMs: number;
  /** Why the delivery failed; null after a success */
  error: string | null;
  /** When the next attempt is due; null if there is none */
  nextAttemptAt: string | null;
}

export interface DeliveryListing {
  entities: DeliveryAttempt[];
  total: number;
  page: number;
  limit: number;
}

export interface EventDeliveryAttempt {
  eventId: string;
  event: string;
  attempt: number;
  /** When the attempt was made */
  at: string;
  outcome: 'succeeded' | 'failed';
  /** The HTTP status that the receiver answered with; null if no answer came */
  responseStatus: number | null;
  durationMs: number;
  /** Why the delivery failed; null after a success */
  error: string | null;
  /** When the next attempt is due; null if there is none */
  nextAttemptAt: string | null;
  /** The first 1 KiB of the answer to a failed attempt, or null */
  responseBody: string | null;
}

export interface EventDelivery {
  eventId: string;
  event: string;
  /** The body as sent, byte for byte; null once the stream no longer has the event */
  body: string | null;
  /** The attempts in the attempt log, newest first */
  attempts: EventDeliveryAttempt[];
}

export interface ReplayEvents {
  /** Events after this time; a day, or a date-time with Z or an offset. Required unless `eventIds` is given */
  since?: string | undefined;
  /** Events up to this time; if absent, up to the newest */
  until?: string | undefined;
  /** The kinds of events to deliver */
  events?:
    | (
        | 'supplier.created'
        | 'supplier.updated'
        | 'supplier.archived'
        | 'supplier.erased'
        | 'product.created'
        | 'product.updated'
        | 'product.archived'
        | 'batch.created'
        | 'batch.updated'
        | 'batch.archived'
        | 'dds.created'
        | 'dds.updated'
        | 'sync.completed'
        | 'sync.overdue'
        | 'webhook.disabled'
        | 'webhook.enabled'
      )[]
    | undefined;
  /** Ids of events in the attempt log: only these are sent. Not allowed with other fields */
  eventIds?: string[] | undefined;
}

export interface ReplayAnswer {
  /** How many events will be sent */
  queued: number;
}

export interface FeedEvent {
  /** The id of the event, by which receivers recognise duplicates: the same in each delivery */
  id: string;
  /** The kind of the event; more kinds may be added */
  event: string;
  timestamp: string;
  integrationId: string;
  /** The data of the event, as in its delivery; see `webhooks` of the OpenAPI document */
  data: {};
}

export interface EventPage {
  /** Events in the order of the stream; may be empty */
  events: FeedEvent[];
  /** The `after` of your next call, which begins after the last event that this page has read */
  next: string;
  /** Whether the stream already has events after this page */
  more: boolean;
}

export interface EventSupplierCreated {
  event: 'supplier.created';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
  };
}

export interface EventSupplierUpdated {
  event: 'supplier.updated';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
    /** Names of the fields whose values have changed */
    changedFields: string[];
  };
}

export interface EventSupplierArchived {
  event: 'supplier.archived';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
  };
}

export interface EventSupplierErased {
  event: 'supplier.erased';
  timestamp: string;
  integrationId: string;
  data: {
    /** Always empty, because the externalId is erased too */
    externalId: '';
    internalId: string;
  };
}

export interface EventProductCreated {
  event: 'product.created';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
  };
}

export interface EventProductUpdated {
  event: 'product.updated';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
    /** Names of the fields whose values have changed */
    changedFields: string[];
  };
}

export interface EventProductArchived {
  event: 'product.archived';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
  };
}

export interface EventBatchCreated {
  event: 'batch.created';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
  };
}

export interface EventBatchUpdated {
  event: 'batch.updated';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
    /** Names of the fields whose values have changed */
    changedFields: string[];
  };
}

export interface EventBatchArchived {
  event: 'batch.archived';
  timestamp: string;
  integrationId: string;
  data: {
    externalId: string;
    internalId: string;
  };
}

export interface EventDdsCreated {
  event: 'dds.created';
  timestamp: string;
  integrationId: string;
  data: DdsEntry;
}

export interface EventDdsUpdated {
  event: 'dds.updated';
  timestamp: string;
  integrationId: string;
  data: {
    ddsId: string;
    batchExternalId: string;
    batchInternalId: string;
    /** REFERENCED while the batch has a reference number; other values may be added */
    status: 'DRAFT' | 'REFERENCED';
    /** The product's HS code when the statement was made */
    hsCode: string | null;
    /** The product's country when the statement was made */
    countryOfProduction: string | null;
    /** The batch's quantity when the statement was made */
    quantity: number | null;
    /** The batch's unit of measure when the statement was made */
    unit: string | null;
    /** The batch's `ddsReferenceNumber` */
    referenceNumber: string | null;
    /** The batch's `ddsVerificationNumber` */
    verificationNumber: string | null;
    /** Fields that a draft lacks and later pushes can give; empty once the status is REFERENCED */
    missing: string[];
    /** Names of the fields of the statement that changed */
    changedFields: ('status' | 'referenceNumber' | 'verificationNumber')[];
  };
}

export interface EventSyncCompleted {
  event: 'sync.completed';
  timestamp: string;
  integrationId: string;
  data: {
    syncId: string;
    entityType: 'supplier' | 'product' | 'batch';
    created: number;
    /** How many items named a record that existed already, even if the item changed nothing */
    updated: number;
    failed: number;
    startedAt: string;
    completedAt: string;
  };
}

export interface EventSyncOverdue {
  event: 'sync.overdue';
  timestamp: string;
  integrationId: string;
  data: {
    entityType: 'supplier' | 'product' | 'batch';
    /** Within how many hours after a push the next push of the kind is expected */
    everyHours: number;
    /** When the last push, archiving or erasing of the kind was answered 200; null if none is known */
    lastPushAt: string | null;
    /** Until when a push is expected: `everyHours` after the last push, or after the expectation was set */
    dueAt: string;
  };
}

export interface EventWebhookDisabled {
  event: 'webhook.disabled';
  timestamp: string;
  integrationId: string;
  data: {
    webhookId: string;
    url: string;
    reason: 'failures' | 'gone' | 'manual';
    consecutiveFailures: number;
  };
}

export interface EventWebhookEnabled {
  event: 'webhook.enabled';
  timestamp: string;
  integrationId: string;
  data: {
    webhookId: string;
    url: string;
    /** Since when the webhook was disabled */
    disabledAt: string;
    /** How many missed events are sent to the webhook */
    queued: number;
  };
}

export type Event =
  | EventSupplierCreated
  | EventSupplierUpdated
  | EventSupplierArchived
  | EventSupplierErased
  | EventProductCreated
  | EventProductUpdated
  | EventProductArchived
  | EventBatchCreated
  | EventBatchUpdated
  | EventBatchArchived
  | EventDdsCreated
  | EventDdsUpdated
  | EventSyncCompleted
  | EventSyncOverdue
  | EventWebhookDisabled
  | EventWebhookEnabled;

export type EventKind = Event['event'];
