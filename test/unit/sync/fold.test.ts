import { Batch, Product, Supplier } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldReader } from '../../../shared/sync/src/items/field-changes.ts';
import { foldItems, gatherRecords } from '../../../shared/sync/src/items/fold.ts';
import type { Fields, Item, Kind } from '../../../shared/sync/src/kind.ts';

const kindOf = (schema: Kind['schema']): Kind => ({
  entityType: 'supplier',
  plural: 'suppliers',
  idPrefix: 'sup',
  schema,
  nameField: 'name',
});
const suppliers = fieldReader(kindOf(Supplier));
const products = fieldReader(kindOf(Product));
const batches = fieldReader(kindOf(Batch));

const fold = (before: Fields | undefined, ...items: Item[]) => {
  const { fields, changes, idle } = foldItems(suppliers, before, items);
  return { fields, changed: [...changes.keys()], idle };
};

describe('a new record', () => {
  it('has the fields of its item, except null, empty and unknown fields', () => {
    const item = {
      externalId: 'S',
      name: 'N',
      code: null,
      phone: '',
      certifications: [],
      isEuOrigin: false,
      x: 1,
    };
    expect(fold(undefined, item)).toEqual({
      fields: { name: 'N', certifications: [], isEuOrigin: false },
      changed: [],
      idle: 0,
    });
  });

  it('has the sent values, but countries in upper case and 0 for negative zero', () => {
    expect(fold(undefined, { name: ' n ', country: 'se' }).fields).toEqual({ name: ' n ', country: 'SE' });
    expect(products.readNew({ name: 'n', country: 'deu', hsCode: '44.07 10' })).toEqual({
      name: 'n',
      country: 'DEU',
      hsCode: '44.07 10',
    });
    expect(Object.is(batches.readNew({ quantity: -0 })['quantity'], 0)).toBe(true);
    expect(batches.readNew({ receivedDate: '2026-03-31T09:00:00+02:00' })).toEqual({
      receivedDate: '2026-03-31T09:00:00+02:00',
    });
  });

  it('has the last values of all its items in a push, and counts as created and not as changed', () => {
    expect(fold(undefined, { name: 'a' }, { name: 'b', code: 'c' }, { name: 'b' })).toEqual({
      fields: { name: 'b', code: 'c' },
      changed: [],
      idle: 1,
    });
  });
});

describe('an existing record', () => {
  const before = { name: 'N', country: 'SE', certifications: ['FSC', 'PEFC'], isEuOrigin: true };

  it('does not change by equal values', () => {
    const same = { name: 'N', country: 'se', certifications: ['FSC', 'PEFC'], isEuOrigin: true, code: null };
    expect(fold(before, same)).toEqual({ fields: before, changed: [], idle: 1 });
  });

  it('keeps absent fields', () => {
    expect(fold(before, { name: 'M' })).toEqual({
      fields: { ...before, name: 'M' },
      changed: ['name'],
      idle: 0,
    });
  });

  it('loses cleared fields', () => {
    expect(fold(before, { name: 'N', country: '', certifications: null })).toEqual({
      fields: { name: 'N', isEuOrigin: true },
      changed: ['country', 'certifications'],
      idle: 0,
    });
  });

  it('has its arrays replaced, order included', () => {
    expect(fold(before, { certifications: ['PEFC', 'FSC'] }).changed).toEqual(['certifications']);
    expect(fold(before, { certifications: ['FSC'] }).fields['certifications']).toEqual(['FSC']);
    expect(fold(before, { certifications: [] }).fields['certifications']).toEqual([]);
  });

  it('distinguishes an empty array from an absent one', () => {
    expect(fold({ name: 'N' }, { certifications: [] }).changed).toEqual(['certifications']);
    expect(fold({ name: 'N', certifications: [] }, { certifications: null }).changed).toEqual([
      'certifications',
    ]);
  });

  it('has not changed where a later item changes it back', () => {
    expect(fold(before, { name: 'M' }, { name: 'N' })).toEqual({ fields: before, changed: [], idle: 0 });
  });

  it('names its changed fields in the order of fields, whatever the order of items', () => {
    expect(fold(before, { isEuOrigin: false }, { name: 'M' }, { code: 'c' }).changed).toEqual([
      'name',
      'code',
      'isEuOrigin',
    ]);
  });
});

it('a pushed record equals a map to which the fields of its items are written in order', () => {
  const value = fc.constantFrom('a', 'b', '', null, undefined);
  const item = fc.record({
    name: fc.constantFrom('a', 'b'),
    code: value,
    phone: value,
    country: fc.constantFrom('se', 'SE', null, ''),
  });
  fc.assert(
    fc.property(
      fc.array(item, { minLength: 1, maxLength: 4 }),
      fc.array(item, { maxLength: 4 }),
      (first, then) => {
        const model = new Map<string, string>();
        const write = (items: readonly Item[]): void => {
          for (const [name, came] of items.flatMap((one) => Object.entries(one))) {
            if (came === null || came === '') model.delete(name);
            else if (typeof came === 'string')
              model.set(name, name === 'country' ? came.toUpperCase() : came);
          }
        };
        write(first);
        const created = foldItems(suppliers, undefined, first).fields;
        expect(created).toEqual(Object.fromEntries(model));
        const old = new Map(model);
        write(then);
        const { fields, changes } = foldItems(suppliers, created, then);
        expect(fields).toEqual(Object.fromEntries(model));
        const differing = suppliers.names.filter((name) => old.get(name) !== model.get(name));
        expect([...changes.keys()]).toEqual(differing);
      },
    ),
  );
});

it('the items of a push are grouped by their record', () => {
  const accepted = ['a', 'b', 'a', 'A'].map((externalId, position) => ({
    position,
    externalId,
    item: { position },
  }));
  expect(gatherRecords(accepted, (id) => `id of ${id}`)).toEqual([
    {
      ordinal: 0,
      internalId: 'id of a',
      externalId: 'a',
      items: [{ position: 0 }, { position: 2 }],
      positions: [0, 2],
    },
    { ordinal: 1, internalId: 'id of b', externalId: 'b', items: [{ position: 1 }], positions: [1] },
    { ordinal: 2, internalId: 'id of A', externalId: 'A', items: [{ position: 3 }], positions: [3] },
  ]);
});
