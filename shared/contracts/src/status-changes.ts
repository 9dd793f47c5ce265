// Archiving and erasing: request and answer. What becomes of a record: items/archive-erase.ts of shared/sync.
import { Type, type Static, type TProperties } from 'typebox';
import { oneOf } from './fields.ts';
import { limits } from './limits.ts';
import { PushError, PushRecord } from './pushes.ts';

export const NamedRecords = Type.Object(
  {
    externalIds: Type.Array(Type.String(), {
      description: `At most ${limits.itemsPerPushMax}. An id that names no record fails, and does not affect other ids`,
    }),
  },
  { title: 'NamedRecords', additionalProperties: false },
);

const answerOf = <Count extends TProperties, Status extends string>(count: Count, status: Status) => ({
  success: Type.Boolean({ description: 'True when no id failed' }),
  ...count,
  errors: Type.Array(PushError),
  records: Type.Array(
    Type.Object({
      ...PushRecord.properties,
      status: oneOf<Status | 'ERROR'>([status, 'ERROR']),
    }),
    { description: 'One entry for each id, in the order of `externalIds`' },
  ),
});

const counted = (what: string) =>
  Type.Integer({
    minimum: 0,
    description: `How many of these records are ${what} now, including records that were ${what} before`,
  });

export const ArchiveAnswer = Type.Object(answerOf({ archived: counted('archived') }, 'ARCHIVED'), {
  title: 'ArchiveAnswer',
});
export type ArchiveAnswer = Static<typeof ArchiveAnswer>;

export const EraseAnswer = Type.Object(answerOf({ erased: counted('erased') }, 'ERASED'), {
  title: 'EraseAnswer',
});
export type EraseAnswer = Static<typeof EraseAnswer>;
