// What the process of the floors is asked for.

/** In the order of a push. */
export const partNames = [
  'parse',
  'validate',
  'BSON and driver',
  'answer',
  'event bytes',
  'publish',
] as const;
export type PartName = (typeof partNames)[number];

export interface Task {
  step: 'prepare' | 'run';
  part: PartName;
  pushes: number;
}
