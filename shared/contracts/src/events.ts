// Events: their kinds, and the body that webhooks delivers and internal services read.
import { Type, type Static, type TSchema } from 'typebox';
import { ddsAnnounced, DdsEntry } from './batches.ts';
import { overdueFields } from './expectations.ts';
import { instant, oneOf } from './fields.ts';
import { entityTypes, updatedCount } from './pushes.ts';

/** The record that was created or archived. */
const Named = Type.Object({ externalId: Type.String(), internalId: Type.String() });
const Updated = Type.Object({
  ...Named.properties,
  changedFields: Type.Array(Type.String(), {
    minItems: 1,
    description: 'Names of the fields whose values have changed',
  }),
});
const Erased = Type.Object({
  externalId: Type.Literal('', { description: 'Always empty, because the externalId is erased too' }),
  internalId: Type.String(),
});
const DdsUpdated = Type.Object({
  ...DdsEntry.properties,
  changedFields: Type.Array(oneOf(ddsAnnounced), {
    minItems: 1,
    description: 'Names of the fields of the statement that changed',
  }),
});
const SyncCompleted = Type.Object({
  syncId: Type.String(),
  entityType: oneOf(entityTypes),
  created: Type.Integer({ minimum: 0 }),
  updated: updatedCount,
  failed: Type.Integer({ minimum: 0 }),
  startedAt: Type.String({ format: 'date-time' }),
  completedAt: Type.String({ format: 'date-time' }),
});
const SyncOverdue = Type.Object({ entityType: oneOf(entityTypes), ...overdueFields });
const WebhookDisabled = Type.Object({
  webhookId: Type.String(),
  url: Type.String(),
  reason: oneOf(['failures', 'gone', 'manual']),
  consecutiveFailures: Type.Integer({ minimum: 0 }),
});

const WebhookEnabled = Type.Object({
  webhookId: Type.String(),
  url: Type.String(),
  disabledAt: instant('Since when the webhook was disabled'),
  queued: Type.Integer({ minimum: 0, description: 'How many missed events are sent to the webhook' }),
});

/** The schema of `data`, by kind. Its keys are the kinds that a webhook can subscribe to. */
export const eventData = {
  'supplier.created': Named,
  'supplier.updated': Updated,
  'supplier.archived': Named,
  'supplier.erased': Erased,
  'product.created': Named,
  'product.updated': Updated,
  'product.archived': Named,
  'batch.created': Named,
  'batch.updated': Updated,
  'batch.archived': Named,
  'dds.created': DdsEntry,
  'dds.updated': DdsUpdated,
  'sync.completed': SyncCompleted,
  'sync.overdue': SyncOverdue,
  'webhook.disabled': WebhookDisabled,
  'webhook.enabled': WebhookEnabled,
} as const;

export type EventKind = keyof typeof eventData;
export type EventData<Kind extends EventKind> = Static<(typeof eventData)[Kind]>;

export const eventKinds = Object.freeze(Object.keys(eventData).filter(isEventKind));

export function isEventKind(text: string): text is EventKind {
  return Object.hasOwn(eventData, text);
}

/** The kind of a test delivery, which webhooks sends to one endpoint on demand. A test delivery is no event. */
export const testKind = 'webhook.test';

/** The body of one event, in the stream EVENTS and in a delivery. */
export interface EventBody<Kind extends EventKind = EventKind> {
  event: Kind;
  timestamp: string;
  integrationId: string;
  data: EventData<Kind>;
}

export const eventBodyOf = (kind: string, data: TSchema) =>
  Type.Object(
    {
      event: Type.Literal(kind),
      timestamp: Type.String({ format: 'date-time' }),
      integrationId: Type.String(),
      data,
    },
    { title: `Event ${kind}` },
  );
