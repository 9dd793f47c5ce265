// The stages of a push, and of the check of an expectation, at which a test may stop the process.
export const stages = [
  'before-entry',
  'after-entry',
  'amid-writes',
  'before-drafts',
  'after-writes',
  'before-answer',
  'after-events',
  'after-publish',
] as const;
/** Stages of the check that finds a push overdue: once the finding is stored, and once the event is published. */
export const checkStages = ['after-overdue', 'after-overdue-event'] as const;
export type PushStage = (typeof stages)[number];
export type Stage = PushStage | (typeof checkStages)[number];
