// The answer to a plan: what the answer to its push would be, and what would become of each item.
import { Type } from 'typebox';
import { itemDetails } from './item-details.ts';
import { BatchPushAnswer, PushAnswer } from './pushes.ts';

export const PlanAnswer = Type.Object({ ...PushAnswer.properties, ...itemDetails }, { title: 'PlanAnswer' });
export const BatchPlanAnswer = Type.Object(
  { ...BatchPushAnswer.properties, ...itemDetails },
  { title: 'BatchPlanAnswer' },
);
