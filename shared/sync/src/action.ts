// What a request can do with records. Each action changes their fields (items/archive-erase.ts) and answers in its own way.
export type Action = keyof typeof doneBy;

/** What a record becomes that existed before the action, in the words of counts and metrics. */
export const doneBy = { push: 'updated', archive: 'archived', erase: 'erased' } as const;

/** The actions that need existing records. */
export type StatusChange = Exclude<Action, 'push'>;
