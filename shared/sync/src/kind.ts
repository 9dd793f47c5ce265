// The declaration of a kind of record. Everything else is the same for suppliers, products and batches.
import type { DdsAnnounced, DdsEntry, EntityType } from '@integration-sync/contracts';
import type { TObject } from 'typebox';
import type { Asking } from './service-messages.ts';

/** A valid item of a push; a field may be null or empty, which clears the field of the record. */
export type Item = Readonly<Record<string, unknown>>;

export type FieldValue = string | number | boolean | readonly string[];

/** The fields of a record. A field that was never pushed, or was cleared, is absent. */
export type Fields = Readonly<Record<string, FieldValue>>;

/** A field that names an existing record of another kind. */
export interface Reference<Found> {
  field: string;
  /** How the details of a record show the internal id of the named record: the key, and the prefix of the id. */
  internalId: { name: string; prefix: string };
  notFound: (externalId: string) => string;
  /** Finds the existing records among `externalIds`; `withContent`: with what a draft shows. Throws if the query fails. */
  find(externalIds: readonly string[], asking: Asking, withContent: boolean): Promise<Map<string, Found>>;
}

/** A draft as the answer of the push, the event and the listing show it. */
export type Draft = DdsEntry;

/** A key of a draft: an event announces each change of its value. */
export type DraftKey = DdsAnnounced;

/** How the engine makes a draft, one for each record, and has it follow the record. */
export interface Drafting<Found> {
  /** The top-level boolean of the push body that asks for drafts. */
  flag: string;
  /** The array of the push's answer that holds the drafts that the push made. */
  answerKey: string;
  collection: string;
  idPrefix: string;
  /** The fields of a record that its draft follows: a push that changes one of them changes the draft. */
  follows: readonly string[];
  /** Whether a record with these fields has a draft, even if no push asks for drafts. */
  isWanted(fields: Fields): boolean;
  /** The draft for the present fields of the record; `before` is the stored draft, if there is one. */
  draft(
    record: { internalId: string; externalId: string; fields: Fields },
    found: Found | undefined,
    before?: Draft,
  ): Draft;
  /** A stored draft as this release shows it. */
  shown(stored: Draft): Draft;
}

export interface Kind<Found = unknown> {
  entityType: EntityType;
  /** The name of the array in a push body, of the collection in the database, and of the listing: the last part of its path. */
  plural: string;
  /** The prefix of internal ids: `sup` makes `sup_3f1c…`. */
  idPrefix: string;
  /** The JSON Schema of an item. The order of its properties is the order of fields. */
  schema: TObject;
  /** The field that a listing shows as the record's name. */
  nameField: string;
  /** Fields that an item may have only beside another field, and that are cleared with it. */
  companions?: Readonly<Record<string, string>>;
  reference?: Reference<Found>;
  drafting?: Drafting<Found>;
}

export const fieldNames = (kind: Kind): string[] =>
  Object.keys(kind.schema.properties).filter((name) => name !== 'externalId');
