// The messages to the process that measures the floors (child.ts).

/** The parts, in the order in which a push needs them. */
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
