// The stored form of a record, and the parameters that all writes of a push share.
import type { Fields } from '../kind.ts';

export interface RecordDocument {
  /** The internal id. */
  _id: string;
  integration: string;
  /** The externalId; empty in an erased record. */
  externalId: string;
  fields: Fields;
  /** The sort key among all records of the kind. Begins with the sync id of the push that created the record. */
  order: string;
  /** The push that created or last changed the record. While `push` stays the same, so do the fields. */
  push: string;
  /** The fields that `push` changed; absent if it created the record. */
  changed?: readonly string[];
  /** The stamp of the last push of the record, even if that push changed no field. */
  lastSyncedAt: Date;
  /** The stamp of `push`. Absent in records of an earlier release until change-times.ts sets it. */
  changedAt?: Date;
}

export interface Writing {
  integration: string;
  syncId: string;
  at: Date;
  /** How many writes run in parallel. */
  parts: number;
  /** Throws if the push may write no more. Called when a write is encoded and about to be sent. */
  confirm: () => Promise<void>;
}
