// What a caller asks to be done with records: to be pushed, archived or erased. All three take the same way through the
// journal, the listings and the stream of events; they differ in what becomes of a record's fields (items/sync-status.ts), and in what
// the caller is answered with.
export type Action = 'push' | 'archive' | 'erase';

/** What is done with records that are there already. */
export type StatusChange = Exclude<Action, 'push'>;
