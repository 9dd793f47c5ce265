"""npm run generate writes this file: the types of requests and answers, from the schemas of the API."""


from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Supplier(TypedDict):
    externalId: str
    name: str
    code: NotRequired[str | None]
    country: NotRequired[str | None]
    address: NotRequired[str | None]
    contactPerson: NotRequired[str | None]
    email: NotRequired[str | None]
    phone: NotRequired[str | None]
    certifications: NotRequired[list[str] | None]
    isEuOrigin: NotRequired[bool | None]


class PushSuppliers(TypedDict):
    suppliers: list[Supplier]


class PushError(TypedDict):
    externalId: str
    error: str


class PushRecord(TypedDict):
    externalId: str
    internalId: str
    status: Literal["CREATED", "UPDATED", "ERROR"]


class ItemDetailsProblems(TypedDict):
    pointer: str
    code: Literal["required", "wrong_value", "not_an_object", "reference_not_found", "unknown_field"]
    detail: str


class ItemDetails(TypedDict):
    index: int
    action: Literal["created", "updated", "unchanged", "failed"]
    changedFields: list[str]
    problems: list[ItemDetailsProblems]
    ignored: list[str]


class PushAnswer(TypedDict):
    success: bool
    created: int
    updated: int
    errors: list[PushError]
    records: list[PushRecord]
    unchanged: NotRequired[int]
    details: NotRequired[list[ItemDetails]]


class PlanSuppliers(TypedDict):
    suppliers: list[Supplier]
    assume: NotRequired[list[str]]


class PlanAnswer(TypedDict):
    success: bool
    created: int
    updated: int
    errors: list[PushError]
    records: list[PushRecord]
    unchanged: int
    details: list[ItemDetails]


class SupplierFields(TypedDict):
    name: NotRequired[str]
    code: NotRequired[str | None]
    country: NotRequired[str | None]
    address: NotRequired[str | None]
    contactPerson: NotRequired[str | None]
    email: NotRequired[str | None]
    phone: NotRequired[str | None]
    certifications: NotRequired[list[str] | None]
    isEuOrigin: NotRequired[bool | None]


class SupplierDetails(TypedDict):
    fields: SupplierFields
    createdBy: str
    changedBy: str
    changedAt: str


class ListedSupplier(TypedDict):
    externalId: str
    internalId: str
    name: str
    syncStatus: str
    lastSyncedAt: str
    details: NotRequired[SupplierDetails]


class SuppliersListing(TypedDict):
    entities: list[ListedSupplier]
    total: int
    page: int
    limit: int


class Product(TypedDict):
    externalId: str
    name: str
    category: NotRequired[str | None]
    country: NotRequired[str | None]
    hsCode: NotRequired[str | None]
    unit: NotRequired[str | None]
    code: NotRequired[str | None]
    supplierExternalId: NotRequired[str | None]


class PushProducts(TypedDict):
    products: list[Product]


class PlanProducts(TypedDict):
    products: list[Product]
    assume: NotRequired[list[str]]


class ProductFields(TypedDict):
    name: str
    category: NotRequired[str | None]
    country: NotRequired[str | None]
    hsCode: NotRequired[str | None]
    unit: NotRequired[str | None]
    code: NotRequired[str | None]
    supplierExternalId: NotRequired[str | None]


class ProductDetails(TypedDict):
    fields: ProductFields
    createdBy: str
    changedBy: str
    changedAt: str
    supplierInternalId: str | None


class ListedProduct(TypedDict):
    externalId: str
    internalId: str
    name: str
    syncStatus: str
    lastSyncedAt: str
    details: NotRequired[ProductDetails]


class ProductsListing(TypedDict):
    entities: list[ListedProduct]
    total: int
    page: int
    limit: int


class Batch(TypedDict):
    externalId: str
    productExternalId: str
    batchNumber: str
    quantity: NotRequired[float | None]
    unit: NotRequired[str | None]
    receivedDate: NotRequired[str | None]
    expiryDate: NotRequired[str | None]
    ddsReferenceNumber: NotRequired[str | None]
    ddsVerificationNumber: NotRequired[str | None]


class PushBatches(TypedDict):
    batches: list[Batch]
    autoCreateDDS: NotRequired[bool]


class DdsEntry(TypedDict):
    ddsId: str
    batchExternalId: str
    batchInternalId: str
    status: Literal["DRAFT", "REFERENCED"]
    hsCode: str | None
    countryOfProduction: str | None
    quantity: float | None
    unit: str | None
    referenceNumber: str | None
    verificationNumber: str | None
    missing: list[str]


class BatchPushAnswer(TypedDict):
    success: bool
    created: int
    updated: int
    errors: list[PushError]
    records: list[PushRecord]
    ddsCreated: list[DdsEntry]
    unchanged: NotRequired[int]
    details: NotRequired[list[ItemDetails]]


class PlanBatches(TypedDict):
    batches: list[Batch]
    autoCreateDDS: NotRequired[bool]
    assume: NotRequired[list[str]]


class BatchPlanAnswer(TypedDict):
    success: bool
    created: int
    updated: int
    errors: list[PushError]
    records: list[PushRecord]
    ddsCreated: list[DdsEntry]
    unchanged: int
    details: list[ItemDetails]


class BatchFields(TypedDict):
    productExternalId: str
    batchNumber: str
    quantity: NotRequired[float | None]
    unit: NotRequired[str | None]
    receivedDate: NotRequired[str | None]
    expiryDate: NotRequired[str | None]
    ddsReferenceNumber: NotRequired[str | None]
    ddsVerificationNumber: NotRequired[str | None]


class BatchDetails(TypedDict):
    fields: BatchFields
    createdBy: str
    changedBy: str
    changedAt: str
    productInternalId: str | None


class ListedBatch(TypedDict):
    externalId: str
    internalId: str
    name: str
    syncStatus: str
    lastSyncedAt: str
    details: NotRequired[BatchDetails]


class BatchesListing(TypedDict):
    entities: list[ListedBatch]
    total: int
    page: int
    limit: int


class NamedRecords(TypedDict):
    externalIds: list[str]


class ArchiveAnswerRecords(TypedDict):
    externalId: str
    internalId: str
    status: Literal["ARCHIVED", "ERROR"]


class ArchiveAnswer(TypedDict):
    success: bool
    archived: int
    errors: list[PushError]
    records: list[ArchiveAnswerRecords]


class EraseAnswerRecords(TypedDict):
    externalId: str
    internalId: str
    status: Literal["ERASED", "ERROR"]


class EraseAnswer(TypedDict):
    success: bool
    erased: int
    errors: list[PushError]
    records: list[EraseAnswerRecords]


class DdsListing(TypedDict):
    entities: list[DdsEntry]
    total: int
    page: int
    limit: int


class SyncRun(TypedDict):
    syncId: str
    entityType: Literal["supplier", "product", "batch"]
    action: Literal["push", "archive", "erase"]
    state: Literal["running", "completed"]
    created: int
    updated: int
    unchanged: int
    failed: int
    startedAt: str
    completedAt: str | None
    client: str | None


class SyncRunListing(TypedDict):
    entities: list[SyncRun]
    total: int
    page: int
    limit: int


class RunError(TypedDict):
    index: int
    externalId: str
    error: str


class SyncRunInFull(TypedDict):
    syncId: str
    entityType: Literal["supplier", "product", "batch"]
    action: Literal["push", "archive", "erase"]
    state: Literal["running", "completed"]
    created: int
    updated: int
    unchanged: int
    failed: int
    startedAt: str
    completedAt: str | None
    client: str | None
    errors: list[RunError]
    errorsOmitted: int


class ExpectationsSuppliers(TypedDict):
    everyHours: int
    lastPushAt: str | None
    dueAt: str
    isOverdue: bool


class ExpectationsProducts(TypedDict):
    everyHours: int
    lastPushAt: str | None
    dueAt: str
    isOverdue: bool


class ExpectationsBatches(TypedDict):
    everyHours: int
    lastPushAt: str | None
    dueAt: str
    isOverdue: bool


class Expectations(TypedDict):
    suppliers: ExpectationsSuppliers | None
    products: ExpectationsProducts | None
    batches: ExpectationsBatches | None


class SetExpectationsSuppliers(TypedDict):
    everyHours: int


class SetExpectationsProducts(TypedDict):
    everyHours: int


class SetExpectationsBatches(TypedDict):
    everyHours: int


class SetExpectations(TypedDict):
    suppliers: NotRequired[SetExpectationsSuppliers | None]
    products: NotRequired[SetExpectationsProducts | None]
    batches: NotRequired[SetExpectationsBatches | None]


class FeedEvent(TypedDict):
    id: str
    event: str
    timestamp: str
    integrationId: str
    data: dict[str, Any]


class EventPage(TypedDict):
    events: list[FeedEvent]
    next: str
    more: bool


class EventSupplierCreatedData(TypedDict):
    externalId: str
    internalId: str


class EventSupplierCreated(TypedDict):
    event: Literal["supplier.created"]
    timestamp: str
    integrationId: str
    data: EventSupplierCreatedData


class EventSupplierUpdatedData(TypedDict):
    externalId: str
    internalId: str
    changedFields: list[str]


class EventSupplierUpdated(TypedDict):
    event: Literal["supplier.updated"]
    timestamp: str
    integrationId: str
    data: EventSupplierUpdatedData


class EventSupplierArchivedData(TypedDict):
    externalId: str
    internalId: str


class EventSupplierArchived(TypedDict):
    event: Literal["supplier.archived"]
    timestamp: str
    integrationId: str
    data: EventSupplierArchivedData


class EventSupplierErasedData(TypedDict):
    externalId: Literal[""]
    internalId: str


class EventSupplierErased(TypedDict):
    event: Literal["supplier.erased"]
    timestamp: str
    integrationId: str
    data: EventSupplierErasedData


class EventProductCreatedData(TypedDict):
    externalId: str
    internalId: str


class EventProductCreated(TypedDict):
    event: Literal["product.created"]
    timestamp: str
    integrationId: str
    data: EventProductCreatedData


class EventProductUpdatedData(TypedDict):
    externalId: str
    internalId: str
    changedFields: list[str]


class EventProductUpdated(TypedDict):
    event: Literal["product.updated"]
    timestamp: str
    integrationId: str
    data: EventProductUpdatedData


class EventProductArchivedData(TypedDict):
    externalId: str
    internalId: str


class EventProductArchived(TypedDict):
    event: Literal["product.archived"]
    timestamp: str
    integrationId: str
    data: EventProductArchivedData


class EventBatchCreatedData(TypedDict):
    externalId: str
    internalId: str


class EventBatchCreated(TypedDict):
    event: Literal["batch.created"]
    timestamp: str
    integrationId: str
    data: EventBatchCreatedData


class EventBatchUpdatedData(TypedDict):
    externalId: str
    internalId: str
    changedFields: list[str]


class EventBatchUpdated(TypedDict):
    event: Literal["batch.updated"]
    timestamp: str
    integrationId: str
    data: EventBatchUpdatedData


class EventBatchArchivedData(TypedDict):
    externalId: str
    internalId: str


class EventBatchArchived(TypedDict):
    event: Literal["batch.archived"]
    timestamp: str
    integrationId: str
    data: EventBatchArchivedData


class EventDdsCreated(TypedDict):
    event: Literal["dds.created"]
    timestamp: str
    integrationId: str
    data: DdsEntry


class EventDdsUpdatedData(TypedDict):
    ddsId: str
    batchExternalId: str
    batchInternalId: str
    status: Literal["DRAFT", "REFERENCED"]
    hsCode: str | None
    countryOfProduction: str | None
    quantity: float | None
    unit: str | None
    referenceNumber: str | None
    verificationNumber: str | None
    missing: list[str]
    changedFields: list[Literal["status", "referenceNumber", "verificationNumber"]]


class EventDdsUpdated(TypedDict):
    event: Literal["dds.updated"]
    timestamp: str
    integrationId: str
    data: EventDdsUpdatedData


class EventSyncCompletedData(TypedDict):
    syncId: str
    entityType: Literal["supplier", "product", "batch"]
    created: int
    updated: int
    failed: int
    startedAt: str
    completedAt: str


class EventSyncCompleted(TypedDict):
    event: Literal["sync.completed"]
    timestamp: str
    integrationId: str
    data: EventSyncCompletedData


class EventSyncOverdueData(TypedDict):
    entityType: Literal["supplier", "product", "batch"]
    everyHours: int
    lastPushAt: str | None
    dueAt: str


class EventSyncOverdue(TypedDict):
    event: Literal["sync.overdue"]
    timestamp: str
    integrationId: str
    data: EventSyncOverdueData


class EventWebhookDisabledData(TypedDict):
    webhookId: str
    url: str
    reason: Literal["failures", "gone", "manual"]
    consecutiveFailures: int


class EventWebhookDisabled(TypedDict):
    event: Literal["webhook.disabled"]
    timestamp: str
    integrationId: str
    data: EventWebhookDisabledData


class EventWebhookEnabledData(TypedDict):
    webhookId: str
    url: str
    disabledAt: str
    queued: int


class EventWebhookEnabled(TypedDict):
    event: Literal["webhook.enabled"]
    timestamp: str
    integrationId: str
    data: EventWebhookEnabledData


Event: TypeAlias = (
    EventSupplierCreated
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
    | EventWebhookEnabled
)
