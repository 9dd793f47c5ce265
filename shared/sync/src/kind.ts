// What a kind of record is to this engine: a small declaration. Everything else that happens to suppliers,
// products and batches is the same.
import type { EntityType, EventData, EventKind } from '@integration-sync/contracts';
import type { TObject } from 'typebox';
import type { Asking } from './service-messages.ts';

/** An item as it was pushed, once it is known to be right; a field may still be null or empty, to clear it. */
export type Item = Readonly<Record<string, unknown>>;

export type FieldValue = string | number | boolean | readonly string[];

/** What a record holds. A field that was never given, or was cleared, is absent. */
export type Fields = Readonly<Record<string, FieldValue>>;

/** A field that names a record of another kind, which has to be there already. */
export interface Reference<Found> {
  field: string;
  /** What the details of a record call the internal id of the one that it names, and how such ids begin. */
  internalId: { name: string; prefix: string };
  notFound: (externalId: string) => string;
  /**
   * Those of the given ones that exist, and what they hold where that is wanted. Throws a `Failure` when that cannot be found
   * out.
   */
  find(externalIds: readonly string[], asking: Asking, withContent: boolean): Promise<Map<string, Found>>;
}

/** A draft as the push's answer, the event and the listing show it. */
export type Draft = EventData<EventKind>;

/** A document that the engine drafts once for a record, when the push asks for it. */
export interface Drafting<Found, Event extends EventKind = EventKind> {
  /** The top-level boolean of the push body that asks for drafts. */
  flag: string;
  /** The array of the push's answer that holds the drafts that the push made. */
  answerKey: string;
  /** The event that announces each new draft, with the draft as its data. */
  event: Event;
  collection: string;
  /** The id of the draft of the record with this internal id. */
  idOf: (internalId: string) => string;
  draft(record: DraftedRecord, found: Found | undefined): EventData<Event>;
}

export interface DraftedRecord {
  internalId: string;
  externalId: string;
  fields: Fields;
}

export interface Kind<Found = unknown> {
  entityType: EntityType;
  /** The array in a push body, the collection in the database and the last part of the listing's path. */
  plural: string;
  /** Of internal ids: `sup` makes `sup_3f1c…`. */
  idPrefix: string;
  /** Says of each field what is right, in JSON Schema. The order of its properties is the order of fields. */
  schema: TObject;
  /** The field that a listing shows as the record's name. */
  nameField: string;
  reference?: Reference<Found>;
  drafting?: Drafting<Found>;
}

/** The names of everything that an item may set, which is all but its key. */
export const fieldNames = (kind: Kind): string[] =>
  Object.keys(kind.schema.properties).filter((name) => name !== 'externalId');
