import { describe, expect, it } from 'vitest';
import { fieldsOf, kinds, wordsOf } from '../../../loader/src/core/kinds.ts';
import { suggestedColumns, suggestedFields } from '../../../loader/src/core/mapping/suggestions.ts';
import type { Source } from '../../../loader/src/core/reading/source.ts';
import type { History } from '../../../loader/src/core/sending/history.ts';
import { isRejectsOf } from '../../../loader/src/core/sending/history.ts';
import { reasonOf } from '../../../loader/src/core/sending/reasons.ts';
import { withRejectedIds } from '../../../loader/src/core/sending/rejected-ids.ts';

it('each field has likely column names for a person who does not know the contract', () => {
  for (const kind of kinds) expect(Object.keys(wordsOf[kind])).toEqual(Object.keys(fieldsOf[kind]));
});

const of = (header: string[], ...rows: string[][]) => suggestedFields(header, rows, 'suppliers');

describe('a suggestion of fields for columns', () => {
  it.each([
    ['suppliers', 'LIFNR;NAME1;NAME2;LAND_KZ;MAILADR', 'externalId;name;;country;email'],
    ['suppliers', 'Kreditor;Name 1;Land;Telefon 1', 'externalId;name;country;phone'],
    ['suppliers', 'No.;Name;Country/Region Code;Phone No.', 'externalId;;country;phone'],
    ['products', 'MATNR;MAKTX;MEINS;LIFNR;LAND1', 'externalId;name;unit;supplierExternalId;'],
    ['products', 'Handle;Title;Vendor;Variant SKU', 'externalId;name;supplierExternalId;code'],
    ['products', 'Material;Materialkurztext;Basismengeneinheit', 'externalId;name;unit'],
    ['batches', 'Material;Werk;Charge;Menge;MHD;Land', 'productExternalId;;batchNumber;quantity;expiryDate;'],
  ] as const)('for %s with the header %s is %s', (kind, header, fields) => {
    expect(suggestedFields(header.split(';'), [], kind).map((field) => field ?? '')).toEqual(
      fields.split(';'),
    );
  });

  it('gives a field to the best column alone, and the id to no column without a digit', () => {
    expect(of(['Lieferant', 'Lieferantennummer'])).toEqual(['name', 'externalId']);
    expect(of(['Lieferant', 'Land'], ['Holz AG', 'DE'])).toEqual(['name', 'country']);
    expect(of(['Lieferant', 'Land'], ['0000100002', 'DE'])).toEqual(['externalId', 'country']);
    expect(of(['NAME1', 'NAME1', 'Land'])).toEqual([undefined, undefined, 'country']);
  });

  it('forms a map together with columns that have field names, and is absent for a header without likely columns', () => {
    expect(suggestedColumns(['LIFNR', 'name', 'SPERR', '#row'], [], 'suppliers')).toEqual({
      LIFNR: 'externalId',
      name: 'name',
      SPERR: null,
    });
    expect(suggestedColumns(['Nummer', 'Wert'], [], 'suppliers')).toBeUndefined();
  });
});

it('the reason of a rejected row names the column of the file before the message of the service', () => {
  const columns = new Map([
    ['country', 'LAND_KZ'],
    ['name', 'NAME1'],
    ['email', 'E-Mail'],
  ]);
  const reason = (field: string, code: 'wrong_value' | 'required', detail: string): string =>
    reasonOf({ pointer: `/suppliers/0/${field}`, code, detail }, columns);
  expect(reason('country', 'wrong_value', 'country: expected a code, got "X"')).toBe(
    '"LAND_KZ" (country): expected a code, got "X"; or its name in English, German, French, Spanish or Italian',
  );
  expect(reason('name', 'required', 'Supplier name is required')).toBe(
    '"NAME1" (name): Supplier name is required',
  );
  expect(reason('email', 'wrong_value', 'email: expected x')).toBe('email: expected x');
  expect(reason('phone', 'wrong_value', 'phone: expected x')).toBe('phone: expected x');
});

const historyOf = (...rejectedIds: string[]): History => ({
  suppliers: {
    url: '',
    mark: undefined,
    startedAt: '',
    finishedAt: '',
    files: [],
    rejectedIds,
    rejects: ['lieferanten-rejects.csv'],
  },
});
const sourceOf = (ids: string[], isRejects = true): Source => ({
  input: { path: 'suppliers.csv', kind: 'suppliers', format: 'csv', sheet: undefined, rules: {} },
  total: ids.length,
  notes: [],
  isRejects,
  rowsBefore: 1,
  make: (raw) => ({ externalId: String(raw) }),
  columns: new Map(),
  async *rows() {
    yield ids.map((raw, at) => ({ number: at + 2, made: { externalId: raw }, raw }));
  },
  rejects: { extension: '.csv', head: new Uint8Array(), line: () => new Uint8Array() },
});
const idsIn = async (source: Source): Promise<unknown[]> =>
  (await Array.fromAsync(source.rows())).flat().map(({ made }) => Reflect.get(made, 'externalId') as unknown);

describe('rejected rows', () => {
  it('get back the leading zeros of ids that a spreadsheet removed, with a note', async () => {
    const source = await withRejectedIds(
      sourceOf(['100002', '0000100003', '7', 'new']),
      historyOf('0000100002', '0000100003', '7', '007'),
    );
    expect(await idsIn(source)).toEqual(['0000100002', '0000100003', '7', 'new']);
    expect(source.make('100002')).toEqual({ externalId: '0000100002' });
    expect(source.notes).toEqual(['ids have lost their leading zeros, and are loaded as "0000100002"']);
  });

  it('stop the load where an id without leading zeros fits two ids of the load before', async () => {
    await expect(withRejectedIds(sourceOf(['1', '42']), historyOf('042', '0042'))).rejects.toThrow(
      'suppliers.csv, row 3: "42" has lost its leading zeros, and is "042" or "0042". Repair it in the file.',
    );
  });

  it('get back no leading zeros where their file is no file of rejects', async () => {
    const plain = sourceOf(['100002'], false);
    expect(await withRejectedIds(plain, historyOf('0000100002'))).toBe(plain);
  });

  it.each([
    ['lieferanten-rejects.csv', true],
    ['lieferanten-rejects (1).csv', true],
    ['lieferanten-rejects(2).csv', true],
    ['lieferanten-rejects.xlsx', true],
    ['lieferanten (1).csv', false],
  ])('in the file %s count as those of the last load: %s', (path, isKnown) => {
    expect(isRejectsOf(historyOf(), { kind: 'suppliers', path })).toBe(isKnown);
  });
});
