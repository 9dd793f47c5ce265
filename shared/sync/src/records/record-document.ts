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
  /** The push that created or last changed the record. */
  push: string;
  changed?: string[];
  lastSyncedAt: Date;
  /**
   * The stamp of `push`. Absent in records of an earlier release to which no listing has given a `changedAt` yet
   * (change-times.ts).
   */
  changedAt?: Date;
}

/** The parameters that all writes of a push share. */
export interface Writing {
  integration: string;
  syncId: string;
  at: Date;
  /** How many writes run in parallel. */
  parts: number;
  /** Throws if the push may write no more. Called when a write is encoded and about to be sent. */
  confirm: () => Promise<void>;
}
