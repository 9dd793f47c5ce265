// The answers to a push and to a plan (what a push would do), and the run: the entry of a push in the history. The bodies of
// the requests have their schemas in routes/records.ts and their checks in items/push-body.ts of shared/sync.
import { Type, type Static } from 'typebox';
import { DdsEntry } from './batches.ts';
import { nullable, oneOf } from './fields.ts';
import { limits } from './limits.ts';
import { unknownNamedMax } from './unknown-names.ts';

export const entityTypes = ['supplier', 'product', 'batch'] as const;
export type EntityType = (typeof entityTypes)[number];

export const PushRecord = Type.Object(
  {
    externalId: Type.String({ description: "Echo of the pushed item's externalId" }),
    internalId: Type.String({
      description: 'Identifier assigned by the service; empty when status is ERROR',
    }),
    status: oneOf(['CREATED', 'UPDATED', 'ERROR']),
  },
  { title: 'PushRecord' },
);
export type PushRecord = Static<typeof PushRecord>;

export const PushError = Type.Object(
  { externalId: Type.String(), error: Type.String({ description: 'The error in words, for a person' }) },
  { title: 'PushError' },
);
export type PushError = Static<typeof PushError>;

export const updatedCount = Type.Integer({
  minimum: 0,
  description: 'How many items named a record that existed already, even if the item changed nothing',
});

const answer = {
  success: Type.Boolean({ description: 'True when no item failed' }),
  created: Type.Integer({ minimum: 0 }),
  updated: updatedCount,
  errors: Type.Array(PushError),
  records: Type.Array(PushRecord, {
    description: 'One entry for each pushed item, in the order of the items',
  }),
};

/** The outcome of an item: of a pushed item with `details=true`, and of a planned item. */
export const ItemDetails = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'The index of the item in the pushed array' }),
    action: oneOf(['created', 'updated', 'unchanged', 'failed']),
    changedFields: Type.Array(Type.String(), {
      description: 'Names of the fields that an `updated` item changes; empty for other items',
    }),
    problems: Type.Array(
      Type.Object({
        pointer: Type.String({ description: 'JSON Pointer (RFC 6901) into the body' }),
        code: oneOf(['required', 'wrong_value', 'not_an_object', 'reference_not_found', 'unknown_field']),
        detail: Type.String({ description: 'The error in words, for a person' }),
      }),
    ),
    ignored: Type.Array(Type.String(), {
      description: `Pointers to the first ${unknownNamedMax} unknown fields of the item; with \`handling=strict\` they are problems instead`,
    }),
  },
  { title: 'ItemDetails' },
);
export type ItemDetails = Static<typeof ItemDetails>;

/** The fields that an answer has only with item details. */
const itemDetails = {
  unchanged: Type.Integer({ minimum: 0, description: 'How many of the `updated` items change nothing' }),
  details: Type.Array(ItemDetails, { description: 'One entry for each item, in the order of the body' }),
};

const batchAnswer = { ...answer, ddsCreated: Type.Array(DdsEntry) };

/** The answer to a push has item details only if the caller asks for `details=true`. */
const optionalItemDetails = Type.Partial(Type.Object(itemDetails)).properties;

export const PushAnswer = Type.Object({ ...answer, ...optionalItemDetails }, { title: 'PushAnswer' });
export type PushAnswer = Static<typeof PushAnswer>;
export const BatchPushAnswer = Type.Object(
  { ...batchAnswer, ...optionalItemDetails },
  { title: 'BatchPushAnswer' },
);
export type BatchPushAnswer = Static<typeof BatchPushAnswer>;

/** The answer to a plan: the answer that the push would get, and the outcome of each item. */
export const PlanAnswer = Type.Object({ ...answer, ...itemDetails }, { title: 'PlanAnswer' });
export const BatchPlanAnswer = Type.Object({ ...batchAnswer, ...itemDetails }, { title: 'BatchPlanAnswer' });

const run = {
  syncId: Type.String(),
  entityType: oneOf(entityTypes),
  action: oneOf(['push', 'archive', 'erase'], {
    description: 'The kind of the request; other values may be added',
  }),
  state: oneOf(['running', 'completed']),
  created: Type.Integer({ minimum: 0 }),
  updated: Type.Integer({ minimum: 0 }),
  unchanged: Type.Integer({ minimum: 0, description: 'How many of the `updated` items changed nothing' }),
  failed: Type.Integer({ minimum: 0 }),
  startedAt: Type.String({ format: 'date-time' }),
  completedAt: nullable('string', { format: 'date-time' }),
};
const client = nullable('string', {
  description:
    'The client that pushed, with its key or a token that its key fetched; null for any other token',
});

export const SyncRun = Type.Object({ ...run, client }, { title: 'SyncRun' });
export type SyncRun = Static<typeof SyncRun>;

/** A run, as one service sends it to another: a service of release 1.1.0 sends no `client`. */
const told = { ...run, client: Type.Optional(client) };

/** The error of an item, with the text that the answer of the push had. It is stored with the sync run. */
export const RunError = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'The index of the item in the pushed array' }),
    externalId: Type.String({ description: 'Empty if the item had no valid externalId' }),
    error: Type.String({ description: 'The error in words, for a person; truncated after 1,000 characters' }),
  },
  { title: 'RunError' },
);
export type RunError = Static<typeof RunError>;

const more = {
  errors: Type.Array(RunError, { description: `The first ${limits.runErrorsMax} items that failed` }),
  errorsOmitted: Type.Integer({ minimum: 0, description: 'How many failed items `errors` leaves out' }),
};

export const SyncRunInFull = Type.Object({ ...run, client, ...more }, { title: 'SyncRunInFull' });
export type SyncRunInFull = Static<typeof SyncRunInFull>;

/** The answer of the service batches when catalog asks for one push. */
export const RunAnswer = Type.Object({ run: Type.Union([Type.Object({ ...told, ...more }), Type.Null()]) });
export type RunAnswer = Static<typeof RunAnswer>;

/** The pushes that catalog asks for: all pushes, if no field is set. */
export const RunsFilter = Type.Object({
  /** Only pushes that began after this time. */
  since: Type.Optional(Type.String()),
  entityType: Type.Optional(oneOf(entityTypes)),
  /** Only pushes in which at least one item failed. */
  failed: Type.Optional(Type.Literal(true)),
  /** Only pushes of this client. */
  client: Type.Optional(Type.String()),
});
export type RunsFilter = Static<typeof RunsFilter>;

/** To list the pushes of both services, catalog asks batches for some pushes of an integration, newest first. */
export const RunsQuestion = Type.Object({
  /** Only pushes whose sync id sorts before this one. */
  before: Type.Union([Type.String(), Type.Null()]),
  skip: Type.Integer({ minimum: 0 }),
  limit: Type.Integer({ minimum: 0 }),
  /** Whether the answer has the number of all pushes, which MongoDB has to count. */
  counted: Type.Boolean(),
  filter: Type.Optional(RunsFilter),
});
export type RunsQuestion = Static<typeof RunsQuestion>;

export const RunsAnswer = Type.Object({
  runs: Type.Array(Type.Object(told)),
  /** The number of all matching pushes; 0 unless the question has `counted`. */
  total: Type.Integer({ minimum: 0 }),
});

/** Pushes that are answered, and whose events the stream may not have yet. */
export const UnannouncedRuns = Type.Object({ syncIds: Type.Array(Type.String()) });
export type UnannouncedRuns = Static<typeof UnannouncedRuns>;
