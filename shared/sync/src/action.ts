// What a request can do with records. Each action changes their fields (items/sync-status.ts) and answers in its own way.
export type Action = 'push' | 'archive' | 'erase';

/** The actions that need existing records. */
export type StatusChange = Exclude<Action, 'push'>;
