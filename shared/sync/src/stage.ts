// The stages at which a test may stop the process: of a push, and of the check whether pushes are overdue.
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
/** At `after-overdue`, a check has stored that a push is overdue; at `after-overdue-event`, it has published the event. */
export type Stage = PushStage | 'after-overdue' | 'after-overdue-event';
