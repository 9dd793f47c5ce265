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
export type PushStage = (typeof stages)[number];
/** The last two: a check has stored that a push is overdue, and has published the event. */
export type Stage = PushStage | 'after-overdue' | 'after-overdue-event';
