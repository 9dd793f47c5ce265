// The actions on records. They differ in what becomes of a record's fields (items/sync-status.ts), and in the answer to the caller.
export type Action = 'push' | 'archive' | 'erase';

/** The actions that need existing records. */
export type StatusChange = Exclude<Action, 'push'>;
