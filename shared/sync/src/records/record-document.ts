// A record as the database has it, and what is the same for everything that a push writes.
import type { Fields } from '../kind.ts';

export interface RecordDocument {
  /** The internal id. */
  _id: string;
  integration: string;
  /** Empty of an erased record. */
  externalId: string;
  fields: Fields;
  /** Where it stands among all records of its kind. Holds the push that created it, for ever. */
  order: string;
  /** The push that last changed it, or created it. */
  push: string;
  changed?: string[];
  lastSyncedAt: Date;
  /** Of that push. Absent of what an earlier release wrote and no listing has dated (change-times.ts). */
  changedAt?: Date;
}

/** What is the same for everything that a push writes. */
export interface Writing {
  integration: string;
  syncId: string;
  at: Date;
  /** How many writes go side by side. */
  parts: number;
  /** Throws where nothing more may be written; asked when a write is ready to be sent, as making it ready takes time. */
  confirm: () => Promise<void>;
}
