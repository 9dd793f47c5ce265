// The answer of a listing, whose form all listings of the API share. listing-query.ts has the query.
import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { instant } from './fields.ts';
import { limits } from './limits.ts';

export const ListingEntity = Type.Object(
  {
    externalId: Type.String({ description: "Caller's identifier; empty for an erased record" }),
    internalId: Type.String({ description: 'Service identifier' }),
    name: Type.String({ description: 'Record name; for a batch, its batch number' }),
    syncStatus: Type.String({ description: 'SYNCED, ARCHIVED or ERASED; other values may be added' }),
    lastSyncedAt: instant('Time of the last sync, UTC, to the millisecond'),
  },
  { title: 'ListingEntity' },
);
export type ListingEntity = Static<typeof ListingEntity>;

/** The content of a record beyond its name, for a caller that asks with `details=true`. */
export interface RecordDetails {
  /** The fields as in a push, without `externalId`; a field that the record does not have is absent. */
  fields: Readonly<Record<string, unknown>>;
  createdBy: string;
  changedBy: string;
  changedAt: string;
  /** The internal id of a product's supplier; null if the product names no supplier. */
  supplierInternalId?: string | null;
  productInternalId?: string | null;
}

export interface RecordSchemas {
  /** The name of the kind in schemas, such as `Supplier`. */
  name: string;
  /** The schema of a pushed item. */
  item: TObject;
  /** The fields of `details` that name the record to which a record of this kind refers. */
  linked: TProperties;
}

export const detailedEntityOf = ({ name, item, linked }: RecordSchemas, erasable: boolean) => {
  const { externalId: _externalId, ...held } = item.properties;
  // If records can be erased, all fields are optional, because an erased record has no fields.
  const fields = erasable ? Type.Partial(Type.Object(held)).properties : held;
  const details = Type.Object(
    {
      fields: Type.Object(fields, {
        title: `${name}Fields`,
        description:
          'The fields of the record, as in a push; a field that the record does not have is absent',
      }),
      createdBy: Type.String({ description: 'syncId of the push that created the record' }),
      changedBy: Type.String({
        description: 'syncId of the push that last changed the record, or created it',
      }),
      changedAt: instant(
        'Time of the last change, UTC, to the millisecond; `changedSince` compares this time',
      ),
      ...linked,
    },
    { title: `${name}Details`, description: 'Only with `details=true`' },
  );
  return Type.Object(
    { ...ListingEntity.properties, details: Type.Optional(details) },
    { title: `Listed${name}` },
  );
};

export interface Listing<Entity> {
  entities: Entity[];
  total: number;
  page: number;
  limit: number;
}

export const listingOf = <T extends TSchema>(entity: T, title: string) =>
  Type.Object(
    {
      entities: Type.Array(entity),
      total: Type.Integer({ minimum: 0 }),
      page: Type.Integer({ minimum: 1 }),
      limit: Type.Integer({ minimum: 1, maximum: limits.pageSizeMax }),
    },
    { title },
  );
