// Expectations: how often an integration means to push each kind of record. If a push does not come in time, catalog announces
// `sync.overdue` (services/catalog/src/expectations).
import { Type, type Static, type TObject } from 'typebox';
import { instant, nullableInstant } from './fields.ts';
import { limits } from './limits.ts';
import type { EntityType } from './pushes.ts';

/** The kinds of records by their plurals, which are the keys of expectations. */
export const expectedKinds = {
  suppliers: 'supplier',
  products: 'product',
  batches: 'batch',
} as const satisfies Record<string, EntityType>;

export type ExpectedKind = keyof typeof expectedKinds;

export const expectedKindNames: readonly ExpectedKind[] = Object.keys(expectedKinds).filter(
  (name): name is ExpectedKind => Object.hasOwn(expectedKinds, name),
);

export const everyHours = Type.Integer({
  minimum: 1,
  maximum: limits.expectedHoursMax,
  description: 'Within how many hours after a push the next push of the kind is expected',
});

/** The schema of an expectation or null: a kind without an expectation has null. */
const orNull = <Value>(properties: Record<string, object>, description: string) =>
  Type.Unsafe<Value | null>({
    type: ['object', 'null'],
    properties,
    required: Object.keys(properties),
    description,
  });

const ofKinds = <Schema extends object>(schema: Schema) =>
  ({ suppliers: schema, products: schema, batches: schema }) satisfies Record<ExpectedKind, Schema>;

export const SetExpectations = Type.Partial(
  Type.Object(
    ofKinds(
      orNull<{ everyHours: number }>(
        { everyHours },
        'How often pushes of the kind are expected; null ends the expectation, and an absent kind is not changed',
      ),
    ),
  ),
  { title: 'SetExpectations', minProperties: 1, additionalProperties: false },
);

const lastPushAt = nullableInstant(
  'When the last push, archiving or erasing of the kind was answered 200; null if none is known',
);
const dueAt = instant(
  'Until when a push is expected: `everyHours` after the last push, or after the expectation was set',
);

const shown = {
  everyHours,
  lastPushAt,
  dueAt,
  isOverdue: Type.Boolean({ description: 'Whether `dueAt` has passed without a push' }),
};
/** An expectation, as the API shows it to a caller. */
export type ShownExpectation = Static<TObject<typeof shown>>;

export const Expectations = Type.Object(
  ofKinds(
    orNull<ShownExpectation>(shown, 'How often pushes of the kind are expected; null without an expectation'),
  ),
  { title: 'Expectations' },
);
export type Expectations = Static<typeof Expectations>;

/** The fields of the event `sync.overdue`, except `entityType`. */
export const overdueFields = { everyHours, lastPushAt, dueAt };
