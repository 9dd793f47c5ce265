// Every subject and stream that crosses a service's border. Requests are `svc.<service>.<noun>.<verb>`,
// events are `events.<integration>.<entity>.<action>`.

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
  /** The service batches asks which products exist, with the fields that a due-diligence draft needs. */
  productsResolve: 'svc.catalog.products.resolve',
  catalogRunsList: 'svc.catalog.runs.list',
  catalogRunsGet: 'svc.catalog.runs.get',
  /** The service webhooks asks for answered pushes whose events the stream may not have yet. */
  catalogRunsUnannounced: 'svc.catalog.runs.unannounced',
  expectationsGet: 'svc.catalog.expectations.get',
  expectationsSet: 'svc.catalog.expectations.set',
  batchesPush: 'svc.batches.batches.push',
  batchesPlan: 'svc.batches.batches.plan',
  batchesArchive: 'svc.batches.batches.archive',
  batchesList: 'svc.batches.batches.list',
  ddsList: 'svc.batches.dds.list',
  batchesRunsList: 'svc.batches.runs.list',
  /** Answers like `batchesRunsList`; a catalog of release 1.1.0 asks on this subject for pushes with a filter. */
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
  endpointsDrill: 'svc.webhooks.endpoints.drill',
  endpointsReplay: 'svc.webhooks.endpoints.replay',
  deliveriesList: 'svc.webhooks.deliveries.list',
  eventsRead: 'svc.webhooks.events.read',
  deliveriesGet: 'svc.webhooks.deliveries.get',
} as const;

export type RequestSubject = (typeof subjects)[keyof typeof subjects];

/**
 * These subjects are also served as `<subject>.<integration>`, for other systems on the same NATS. The integration in the subject
 * wins over the header, so a NATS account that imports such a subject can only read this integration.
 */
export const pinnableSubjects: readonly RequestSubject[] = [
  subjects.suppliersList,
  subjects.productsList,
  subjects.batchesList,
  subjects.ddsList,
];

export const pinnedSubject = (subject: string, integration: string): string => `${subject}.${integration}`;

/** On this subject catalog, batches and webhooks answer whether they are ready. */
export const healthSubject = (service: string): string => `svc.${service}.health.check`;

/** On this subject a caller tells every replica that it no longer waits for a reply. The body is the reply subject. */
export const givenUpSubject = (service: string): string => `svc.${service}.given-up`;

/**
 * On this subject a stopping process asks replicas to answer the requests that it sent and that wait for events. The
 * body is the prefix of its reply subjects. Every replica of the service gets the message.
 */
export const answerNowSubject = (service: string): string => `svc.${service}.answer-now`;

const callerReply = /^_INBOX_([a-z][a-z0-9-]{0,31})\.([A-Za-z0-9]{1,64})\.(\d{1,15})$/;

/**
 * On this subject a replica tells a caller that it still works on the request, or asks whether the caller still waits. The reply
 * subject cannot serve for this: between accounts, NATS passes on only one message to it. `reply` is the reply subject that the
 * caller chose; the result is undefined if no process of this system chose it.
 */
export function callerSubject(reply: string): string | undefined {
  const [, service, process, request] = callerReply.exec(reply) ?? [];
  return service === undefined ? undefined : `svc.${service}.caller.${process}.${request}`;
}

/** Every replica of the service answers with its notes for `/readyz` about streams, if it has any. */
export const notesSubject = (service: ServiceName): string => `svc.${service}.health.notes`;

/** Every replica of webhooks answers with the names and fingerprints of its keys, never with the keys. */
export const keysSubject = 'svc.webhooks.health.keys';

/** Every replica of webhooks drops its cached state of the endpoint in the body. */
export const endpointChangedSubject = 'webhooks.endpoint.changed';

export const eventsStream = 'EVENTS';
export const eventsFilter = 'events.>';

/** The log: the events of each push as one message (event-batches.ts). */
export const eventBatchesStream = 'EVENT_BATCHES';
export const eventBatchesNoun = 'event-batches';
export const eventBatchesFilter = `${eventBatchesNoun}.*.*`;

/** The publisher of an event batch: a service, or `replay` for events that webhooks publishes again for one endpoint. */
export type BatchAnnouncer = Announcer | 'replay';

export const eventBatchesSubject = (announcer: BatchAnnouncer, integration: string): string =>
  `${eventBatchesNoun}.${announcer}.${integration}`;

/** The filter of the subjects on which any announcer publishes the event batches of an integration. */
export const publishedBatches = (integration: string): string => `${eventBatchesNoun}.*.${integration}`;

/** For example `events.acme.supplier.created`. A message is the body of an event; its `Nats-Msg-Id` is the id of the event. */
export const eventSubject = (integration: string, event: string): string => `events.${integration}.${event}`;

/** An integration is a single token of a subject, without dot, space or wildcard. */
export const integrationPattern = '^[A-Za-z0-9_-]{1,64}$';
const integrationName = new RegExp(integrationPattern);
export const isIntegration = (text: string): boolean => integrationName.test(text);
