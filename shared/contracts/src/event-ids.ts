// Makes the ids of events. An id has only letters, digits, `_` and `-`: a signature joins it to the body by dots, and an event batch
// lists its ids with spaces between. It has at most `limits.eventIdCharactersMax` characters. Ids are derived, so that every replica
// publishes an event under the same id.

/** `syncId-completed`, or the ordinal of the event's record in the push, as in `syncId-created-0`. */
export const eventId = (
  syncId: string,
  what: 'completed' | `${'created' | 'updated' | 'archived' | 'erased' | 'drafted' | 'redrafted'}-${number}`,
): string => `${syncId}-${what}`;

/** Names the due time: each due time without a push has an event. */
export const overdueEventId = (expectationId: string, dueAt: Date): string =>
  `${expectationId}-overdue-${dueAt.getTime()}`;

/** Names the time, because after a restore of MongoDB another disabling may have the same epoch. */
export const disabledEventId = (webhookId: string, { epoch, at }: { epoch: number; at: Date }): string =>
  `${webhookId}-disabled-${epoch}-${at.getTime()}`;

/** Names the disabling that the enabling ends. */
export const enabledEventId = (webhookId: string, { epoch, at }: { epoch: number; at: Date }): string =>
  `${webhookId}-enabled-${epoch}-${at.getTime()}`;
