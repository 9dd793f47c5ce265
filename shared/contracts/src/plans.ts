// The answer to a plan: what the answer to its push would be, and what would become of each item.
import { Type, type Static } from 'typebox';
import { BatchPushAnswer, PushAnswer } from './pushes.ts';

const actions = ['created', 'updated', 'unchanged', 'failed'] as const;
const problemCodes = ['required', 'wrong_value', 'not_an_object', 'reference_not_found'] as const;

export const PlannedItem = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'Where the item stands in the pushed array' }),
    action: Type.Unsafe<(typeof actions)[number]>({ type: 'string', enum: [...actions] }),
    changedFields: Type.Array(Type.String(), { description: 'Of an item that would be `updated`' }),
    problems: Type.Array(
      Type.Object({
        pointer: Type.String({ description: 'Into the body, as in RFC 6901' }),
        code: Type.Unsafe<(typeof problemCodes)[number]>({ type: 'string', enum: [...problemCodes] }),
        detail: Type.String({ description: 'What was wrong, for a person to read' }),
      }),
    ),
  },
  { title: 'PlannedItem' },
);
export type PlannedItem = Static<typeof PlannedItem>;

const more = {
  unchanged: Type.Integer({ minimum: 0, description: 'The part of `updated` that would change nothing' }),
  details: Type.Array(PlannedItem, { description: 'One per item, in the order of the body' }),
};

export const PlanAnswer = Type.Object({ ...PushAnswer.properties, ...more }, { title: 'PlanAnswer' });
export const BatchPlanAnswer = Type.Object(
  { ...BatchPushAnswer.properties, ...more },
  { title: 'BatchPlanAnswer' },
);
