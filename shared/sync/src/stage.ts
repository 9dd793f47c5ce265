// The stages of a push at which a test may stop the process.
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
export type Stage = (typeof stages)[number];
