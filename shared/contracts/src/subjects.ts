// Every subject and stream that crosses a service's border. Requests are `svc.<service>.<noun>.<verb>`,
// facts are `events.<integration>.<entity>.<action>`.

import type { Announcer } from './announcers.ts';

export const services = ['gateway', 'catalog', 'batches', 'webhooks'] as const;
export type ServiceName = (typeof services)[number];

export const subjects = {
  suppliersPush: 'svc.catalog.suppliers.push',
  suppliersPlan: 'svc.catalog.suppliers.plan',
  suppliersArchive: 'svc.catalog.suppliers.archive',
  suppliersErase: 'svc.catalog.suppliers.erase',
  suppliersList: 'svc.catalog.suppliers.list',
  productsPush: 'svc.catalog.products.push',
  productsPlan: 'svc.catalog.products.plan',
  productsArchive: 'svc.catalog.products.archive',
  productsList: 'svc.catalog.products.list',
  /** Batches asks which products exist, and what a due-diligence draft needs of them. */
  productsResolve: 'svc.catalog.products.resolve',
  catalogRunsList: 'svc.catalog.runs.list',
  catalogRunsGet: 'svc.catalog.runs.get',
  /** Webhooks asks which pushes have their answer, and whose events the stream may not have yet. */
  catalogRunsUnannounced: 'svc.catalog.runs.unannounced',
  batchesPush: 'svc.batches.batches.push',
  batchesPlan: 'svc.batches.batches.plan',
  batchesArchive: 'svc.batches.batches.archive',
  batchesList: 'svc.batches.batches.list',
  ddsList: 'svc.batches.dds.list',
  batchesRunsList: 'svc.batches.runs.list',
  /** The same with a filter. A replica of an older release, which knows no filter, does not listen here. */
  batchesRunsFind: 'svc.batches.runs.find',
  batchesRunsGet: 'svc.batches.runs.get',
  batchesRunsUnannounced: 'svc.batches.runs.unannounced',
  endpointsRegister: 'svc.webhooks.endpoints.register',
  endpointsList: 'svc.webhooks.endpoints.list',
  endpointsGet: 'svc.webhooks.endpoints.get',
  endpointsChange: 'svc.webhooks.endpoints.change',
  endpointsRemove: 'svc.webhooks.endpoints.remove',
  endpointsRotate: 'svc.webhooks.endpoints.rotate',
  endpointsTest: 'svc.webhooks.endpoints.test',
  endpointsReplay: 'svc.webhooks.endpoints.replay',
  deliveriesList: 'svc.webhooks.deliveries.list',
  eventsRead: 'svc.webhooks.events.read',
  deliveriesGet: 'svc.webhooks.deliveries.get',
} as const;

export type RequestSubject = (typeof subjects)[keyof typeof subjects];

/** Every service with engines behind it answers here whether it is ready. */
export const healthSubject = (service: ServiceName): string => `svc.${service}.health.check`;

/**
 * Here a caller says that it waits no longer for the answer to a request: the body is the subject to which that answer would
 * go. Every replica of the service hears it.
 */
export const givenUpSubject = (service: string): string => `svc.${service}.given-up`;

/**
 * Here a process asks that its questions with which replicas wait for something be answered now, with what there is: it is
 * about to end. The body is how the subjects of its answers begin. Every replica of the service hears it.
 */
export const answerNowSubject = (service: string): string => `svc.${service}.answer-now`;

/** What every replica of the service has to say of its streams; one that has nothing to say does not answer. */
export const notesSubject = (service: ServiceName): string => `svc.${service}.health.notes`;

/** Every replica of webhooks says which keys it has: their names and what tells them apart, never the keys. */
export const keysSubject = 'svc.webhooks.health.keys';

/** Every replica of webhooks forgets what it remembers of the endpoint that is named. */
export const endpointChangedSubject = 'webhooks.endpoint.changed';

export const eventsStream = 'EVENTS';
export const eventsFilter = 'events.>';

/** The log: the same events, those of a push as one message (event-batches.ts). */
export const eventBatchesStream = 'EVENT_BATCHES';
export const eventBatchesNoun = 'event-batches';
export const eventBatchesFilter = `${eventBatchesNoun}.*.*`;

/** Who writes an event batch; `replay`: webhooks, what one endpoint is to get again, which is no event. */
export type BatchAnnouncer = Announcer | 'replay';

export const eventBatchesSubject = (announcer: BatchAnnouncer, integration: string): string =>
  `${eventBatchesNoun}.${announcer}.${integration}`;

/** On which the event batches of an integration are published, whoever announces them. */
export const publishedBatches = (integration: string): string => `${eventBatchesNoun}.*.${integration}`;

/**
 * `supplier.created` of acme is announced on `events.acme.supplier.created`. The message is the body of its deliveries (events.ts),
 * and its `Nats-Msg-Id` the id of the event.
 */
export const eventSubject = (integration: string, event: string): string => `events.${integration}.${event}`;

/** An integration is a single token of a subject: it has no dot, space or wildcard. */
export const integrationPattern = '^[A-Za-z0-9_-]{1,64}$';
