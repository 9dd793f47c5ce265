import { Batch, Product, Supplier } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldsOf, kinds, neededOf } from '../../../loader/src/core/kinds.ts';
import { bindColumns } from '../../../loader/src/core/mapping/columns.ts';
import { Wrong } from '../../../loader/src/core/mapping/convert.ts';
import { dateFormat, findDates, readDate } from '../../../loader/src/core/mapping/dates.ts';
import { itemsOfCells, itemsOfObjects, type Table } from '../../../loader/src/core/mapping/items.ts';
import { parseMap, rulesFor, type Rules } from '../../../loader/src/core/mapping/map.ts';
import { findDecimals, readNumber } from '../../../loader/src/core/mapping/numbers.ts';

const found = (texts: string[]) => findDates(texts)?.map(({ text }) => text);

const bind = (header: string[], rules: Partial<Rules> = {}) =>
  bindColumns(header, { kind: 'batches', ...rules }, 'batches.csv');

const table = (columns: string[], sample: unknown[][] = [], kind: Table['kind'] = 'batches'): Table => ({
  kind,
  bound: columns.map((column, index) => ({ index, column, field: column })),
  width: columns.length,
  sample: sample as Table['sample'],
  delimiter: ';',
  where: 'batches.csv',
});

const made = (rules: Rules) => itemsOfCells(table(['externalId', 'unit']), rules).make(['B-1', '']);

const looking = (column: string, cells: string[], rules: Rules = {}, delimiter: string | undefined = ';') =>
  itemsOfCells(
    {
      ...table(
        [column],
        cells.map((cell) => [cell]),
      ),
      delimiter,
    },
    rules,
  ).notes;

const valueOf = (
  column: string,
  cell: unknown,
  rules: Rules = {},
  kind: Table['kind'] = 'batches',
): unknown => {
  const item = itemsOfCells(table([column], [], kind), rules).make([cell] as never);
  return item instanceof Wrong ? `wrong: ${item.reason}` : item[column];
};

const quantityOf = (cell: string, delimiter: string, sample: string, rules: Rules = {}) =>
  itemsOfCells({ ...table(['quantity'], [[sample]]), delimiter }, rules).make([cell]);

const countryOf = (cell: string, kind: Table['kind'] = 'suppliers'): unknown =>
  valueOf('country', cell, {}, kind);

describe('the fields that the loader knows', () => {
  const types: Readonly<Record<string, string[]>> = {
    text: ['string'],
    id: ['string'],
    date: ['string'],
    amount: ['number'],
    flag: ['boolean'],
    list: ['array'],
  };

  it.each([
    ['suppliers', Supplier],
    ['products', Product],
    ['batches', Batch],
  ] as const)('of %s equal the fields of the contract', (kind, schema) => {
    const plain = JSON.parse(JSON.stringify(schema)) as {
      required: string[];
      properties: Record<string, { type: string | string[]; format?: string }>;
    };
    expect(Object.keys(fieldsOf[kind])).toEqual(Object.keys(plain.properties));
    expect(neededOf(kind)).toEqual(plain.required);
    for (const [name, { type }] of Object.entries(fieldsOf[kind])) {
      const property = plain.properties[name];
      expect([property?.type].flat().filter((one) => one !== 'null')).toEqual(types[type]);
      expect(property?.format === 'day-or-instant').toBe(type === 'date');
    }
  });

  it('are listed by kind of record, each kind after the kind that it refers to', () => {
    expect(kinds).toEqual(['suppliers', 'products', 'batches']);
  });
});

describe('numbers', () => {
  it.each([
    ['1.250,5', ',', 1250.5],
    ['12,5', ',', 12.5],
    ['1250', ',', 1250],
    ['1.250', ',', 1250],
    ['1 250,75', ',', 1250.75],
    ['12,5-', ',', -12.5],
    ['-3', ',', -3],
    ['1,250.5', '.', 1250.5],
    ['12.5', '.', 12.5],
    ['1e3', '.', 1000],
    ['1,250', '.', 1250],
    ['1’250.50', '.', 1250.5],
    ['.5', '.', 0.5],
    ['-.125', '.', -0.125],
    [',5', ',', 0.5],
  ] as const)('%s with the decimal sign %s is %d', (text, sign, number) => {
    expect(readNumber(text, sign)).toBe(number);
  });

  it('are rejected if infinite, as 1e999 is in JSON: a push would send null', () => {
    expect(valueOf('quantity', JSON.parse('1e999'))).toMatch(/^wrong: quantity: "Infinity" is no number/);
    expect(itemsOfObjects('batches', {})(JSON.parse('{"externalId":"B","quantity":-1e999}'))).toEqual(
      new Wrong('quantity: a number that is too large', 'B'),
    );
    // A map leaves the other keys out, so that their numbers do no harm.
    const mapped = itemsOfObjects('batches', { columns: { id: 'externalId' } });
    expect(mapped(JSON.parse('{"id":"B","weight":1e999}'))).toEqual({ externalId: 'B' });
  });

  it('are exact to the last bit', () => {
    const groups = fc.array(fc.integer({ min: 100, max: 999 }), { maxLength: 5 });
    const whole = fc.tuple(fc.nat(999), groups).map((parts) => parts.flat());
    const fraction = fc.array(fc.nat(9), { maxLength: 17 }).map((digits) => digits.join(''));
    fc.assert(
      fc.property(
        fc.constantFrom('', '+', '-'), whole, fraction, fc.boolean(),
        (sign, parts, digits, isGrouped) => {
          const text = sign + parts.join(isGrouped ? '.' : '') + (digits === '' ? '' : `,${digits}`);
          expect(readNumber(text, ',')).toBe(Number(`${sign}${parts.join('')}.${digits}`));
        },
      ),
      { numRuns: 2_000 },
    ); // oxfmt-ignore
  });

  it.each([
    ['1.25', ','],
    ['1,25', '.'],
    ['12.50', ','],
    ['1,2,3', '.'],
    ['abc', ','],
    ['', ','],
    ['1..5', '.'],
    ['.', '.'],
    ['-', ','],
    ['0x10', '.'],
    ['Infinity', '.'],
    ['12E456', '.'],
    ["1'250.500", ','],
    ['1 250,500', '.'],
  ] as const)('%s with the decimal sign %s is no number', (text, sign) => {
    expect(readNumber(text, sign)).toBeUndefined();
  });

  it('show a decimal comma or a decimal point by a value that only one of the two fits', () => {
    expect(findDecimals(['5', '1.250', '12,5', '3.14'])).toEqual({
      comma: '12,5',
      point: '3.14',
      either: '1.250',
    });
    expect(findDecimals(['1.250.000', '1,250.75'])).toMatchObject({ comma: '1.250.000', point: '1,250.75' });
    expect(findDecimals(["1'250.500", '1 250,500'])).toMatchObject({
      comma: '1 250,500',
      point: "1'250.500",
    });
    expect(findDecimals(['.500', ',250'])).toMatchObject({ comma: ',250', point: '.500' });
    expect(findDecimals(['1’250.5'])).toMatchObject({ point: '1’250.5' });
    expect(findDecimals(['5', ''])).toEqual({ comma: undefined, point: undefined, either: undefined });
  });
});

describe('dates', () => {
  it.each([
    ['DD.MM.YYYY', '31.03.2026', '2026-03-31'],
    ['DD.MM.YYYY', '1.3.2026', '2026-03-01'],
    ['DD.MM.YYYY', '31.03.2026 00:00:00', '2026-03-31'],
    ['YYYYMMDD', '20260331', '2026-03-31'],
    ['MM/DD/YYYY', '3/31/2026', '2026-03-31'],
    ['DD.MM.YYYY', '2026-03-31', '2026-03-31'],
    ['DD.MM.YYYY', '2026-03-31 00:00:00', '2026-03-31'],
    ['DD.MM.YYYY', '2026-03-31T10:00:00Z', '2026-03-31T10:00:00Z'],
    ['DD.MM.YYYY', '31.03.2026 10:00:00', '2026-03-31'],
    ['MM/DD/YYYY', '12/31/2025 12:00:00 AM', '2025-12-31'],
    ['DD.MM.YYYY', '2025-12-31 13:45:00', '2025-12-31'],
    ['DD.MM.YYYY', '2025-12-31 13:45:00.123 +0100', '2025-12-31T13:45:00.123+01:00'],
    ['DD.MM.YY', '31.12.25', '2025-12-31'],
    ['DD.MM.YY', '31.12.98', '1998-12-31'],
    ['DD-MMM-YYYY', '31-Dec-2025', '2025-12-31'],
    ['DD-MMM-YY', '31-DEZ-25', '2025-12-31'],
    ['DD MMM YYYY', '31 août 2025', '2025-08-31'],
    ['MMM DD, YYYY', 'Mar 31, 2026', '2026-03-31'],
    ['DD.MM.YYYY', '/Date(1767139200000)/', '2025-12-31'],
  ])('as %s, %s is %s', (format, text, day) => {
    expect(readDate(text, dateFormat(format))).toBe(day);
  });

  it.each([
    ['DD.MM.YYYY', '31/03/2026'],
    ['DD.MM.YYYY', '31.03.26'],
    ['YYYYMMDD', '2026331'],
    ['DD-MMM-YYYY', '31-Foo-2025'],
    ['DD.MM.YYYY', '31.03.2026 later'],
  ])('as %s, %s is no date', (format, text) => {
    expect(readDate(text, dateFormat(format))).toBeUndefined();
  });

  it('have the format that all values fit, or are ambiguous', () => {
    expect(found(['', '2026-03-31'])).toBeUndefined();
    expect(found(['31.03.2026', '00.00.0000', '2026-03-31'])).toEqual(['DD.MM.YYYY']);
    expect(found(['20260331', '00000000'])).toEqual(['YYYYMMDD']);
    expect(found(['03/04/2026', '31/03/2026'])).toEqual(['DD/MM/YYYY']);
    expect(found(['03/04/2026', '03/31/2026'])).toEqual(['MM/DD/YYYY']);
    expect(found(['03/04/2026'])).toEqual(['DD/MM/YYYY', 'MM/DD/YYYY']);
    expect(found(['03-31-2026', '03-04-2026', '05-06-2026'])).toEqual(['MM-DD-YYYY']);
    expect(found(['03-04-2026'])).toEqual(['DD-MM-YYYY', 'MM-DD-YYYY']);
    expect(found(['0000-00-00', '0000-00-00 00:00:00', '00/00/0000'])).toBeUndefined();
    expect(found(['next week'])).toEqual([]);
    expect(found(['12/31/2025 12:00:00 AM'])).toEqual(['MM/DD/YYYY']);
    expect(found(['31.12.25'])).toEqual(['DD.MM.YY']);
    expect(found(['31-Dec-2025'])).toEqual(['DD-MMM-YYYY']);
    expect(found(['03/04/25'])).toEqual(['DD/MM/YY', 'MM/DD/YY']);
  });

  it.each(['soon', 'MM/DD', 'D.M.YYYY', 'DD.MM.YYYY DD', ''])('have no format in %j', (text) => {
    expect(dateFormat(text)).toBeUndefined();
  });
});

describe('columns', () => {
  it('match fields whatever their case, blanks and underscores', () => {
    const { bound, unused } = bind([
      'External ID',
      'product_external_id',
      'BATCH-NUMBER',
      'Note',
      '#row',
      '',
    ]);
    expect(bound.map(({ field, index }) => [field, index])).toEqual([
      ['externalId', 0],
      ['productExternalId', 1],
      ['batchNumber', 2],
    ]);
    expect(unused).toEqual(['Note']);
  });

  it('match fields whatever invisible characters their names have', () => {
    const { bound } = bind(['external\u200bId', 'product\u00adExternalId', '\ufeffbatchNumber\u200e']);
    expect(bound.map(({ field }) => field)).toEqual(['externalId', 'productExternalId', 'batchNumber']);
  });

  it('that are needed and missing stop the load, with the most similar names', () => {
    expect(() => bind(['externalId', 'product_extern_id', 'Charge'])).toThrow(
      /^batches.csv: no column is "productExternalId", which batches need. The nearest are "product_extern_id"/,
    );
    expect(() => bind(['externalId', 'productExternalId', 'Charge'])).toThrow(
      'no column is "batchNumber", which batches need. The columns are "externalId", "productExternalId", "Charge".',
    );
  });

  it('with one name twice stop the load, and are named by their positions', () => {
    expect(() => bind(['externalId', 'productExternalId', 'batchNumber', 'externalId'])).toThrow(
      'batches.csv: the columns 1 and 4 are all named "externalId", which is "externalId". Rename one of them',
    );
  });

  it('stop the load where two columns match one field', () => {
    expect(() => bind(['externalId', 'External ID', 'productExternalId', 'batchNumber'])).toThrow(
      'batches.csv: the columns "externalId" and "External ID" are both "externalId". Map one of them to null.',
    );
  });

  it('follow a map, in which a constant can stand for a column', () => {
    const columns = {
      Charge: 'batchNumber',
      Material: 'productExternalId',
      Nr: 'externalId',
      batchNumber: null,
    };
    const { bound } = bind(['nr', 'MATERIAL', 'Charge', 'batchNumber'], { columns });
    expect(bound.map(({ field }) => field)).toEqual(['externalId', 'productExternalId', 'batchNumber']);
    const constants = { batchNumber: 'none' };
    expect(bind(['externalId', 'productExternalId'], { constants }).bound).toHaveLength(2);
    expect(() => bind(['Nr'], { columns: { Nr: 'externlId' } })).toThrow(
      'the map says "externlId" for "Nr", which is no field of batches: the nearest is "externalId"',
    );
  });
});

describe('rows', () => {
  it('have whole Excel numbers of at most 15 digits in id columns converted to digits', () => {
    expect(valueOf('externalId', 4711)).toBe('4711');
    expect(valueOf('externalId', '0004711')).toBe('0004711');
    expect(valueOf('externalId', 4711.5)).toMatch('wrong: externalId: 4711.5 is a number with a fraction');
    expect(valueOf('externalId', 1234567890123456)).toMatch('more than 15 digits, which Excel does not keep');
    expect(valueOf('externalId', 123456789012345)).toBe('123456789012345');
    expect(valueOf('batchNumber', 1234567890123456)).toMatch('more than 15 digits');
    expect(valueOf('externalId', new Date('2026-03-01T00:00:00Z'))).toMatch('is a day, and no id');
  });

  it('have ids without the blanks around them, unless a map keeps these blanks', () => {
    expect(valueOf('externalId', ' ALV-1   ')).toBe('ALV-1');
    expect(valueOf('productExternalId', 'P-1\u00a0')).toBe('P-1');
    expect(valueOf('externalId', ' ALV-1', { trim: false })).toBe(' ALV-1');
    expect(valueOf('batchNumber', ' 1')).toBe(' 1');
  });

  it('have ids without invisible characters, unless a map keeps these characters', () => {
    expect(valueOf('externalId', '\u200bS\u00adUP\u2060-1\u200e')).toBe('SUP-1');
    expect(valueOf('externalId', 'SUP-1\u200b', { trim: false })).toBe('SUP-1\u200b');
  });

  it('are rejected where a spreadsheet has shortened a long number', () => {
    expect(valueOf('externalId', '4,00638E+12')).toMatch('"4,00638E+12" is a shortened number');
    expect(valueOf('productExternalId', '1.23457E+12')).toMatch(/^wrong: /);
    expect(valueOf('batchNumber', '1E+15')).toMatch(/^wrong: /);
    expect(['1E12', '4E-1', 'E+12', '12E+12'].map((id) => valueOf('externalId', id))).toEqual([
      '1E12',
      '4E-1',
      'E+12',
      '12E+12',
    ]);
  });

  it('have the text of a formula such as ="00123", which keeps leading zeros', () => {
    expect(valueOf('externalId', '="00123"')).toBe('00123');
    expect(valueOf('batchNumber', '="007"')).toBe('007');
    expect(valueOf('receivedDate', '="2026-03-31"')).toBe('2026-03-31');
    expect([valueOf('unit', '=""'), valueOf('externalId', '=""')]).toEqual([undefined, undefined]);
    expect(valueOf('unit', '="', {}, 'batches')).toBe('="');
  });

  it('are rejected where an object or an array stands for a text', () => {
    const make = itemsOfObjects('suppliers', { columns: { nr: 'externalId', certs: 'certifications' } });
    expect(make({ nr: { value: 'S-1' } })).toMatchObject({
      reason: expect.stringContaining('is no single value'),
    });
    expect(make({ nr: ['S-1'] })).toMatchObject({ reason: expect.stringContaining('is no single value') });
    expect(make({ nr: 'S-1', certs: { FSC: true } })).toMatchObject({ reason: expect.any(String) });
    expect(make({ nr: 'S-1', certs: ['FSC'] })).toEqual({ externalId: 'S-1', certifications: ['FSC'] });
  });

  it('after the first 1,000 are rejected if the separator in a number can be of thousands or of decimals', () => {
    expect(quantityOf('1.250', ',', '5')).toMatchObject({ reason: expect.stringContaining('say --decimal') });
    expect(quantityOf('1,250', '\t', '')).toMatchObject({ reason: expect.stringContaining('say --decimal') });
    expect(quantityOf('1.250', ',', '1.5')).toEqual({ quantity: 1.25 });
    expect(quantityOf('1.250', ',', '5', { decimal: ',' })).toEqual({ quantity: 1250 });
    expect(quantityOf('1250', ',', '5')).toEqual({ quantity: 1250 });
    expect(quantityOf('1.250', ';', '5')).toEqual({ quantity: 1250 });
  });

  it('have values replaced as a map says, in one field or in all fields with codes', () => {
    const values = { D: 'DE', Stk: 'PCE', name: { D: 'Dee' } };
    const of = (column: string, cell: string) => valueOf(column, cell, { values }, 'suppliers');
    expect([of('country', 'D'), of('country', ' D '), of('name', 'D'), of('address', 'D')]).toEqual([
      'DE',
      'DE',
      'Dee',
      'D',
    ]);
    expect(valueOf('unit', 'Stk', { values })).toBe('PCE');
    expect(valueOf('externalId', 'D', { values })).toBe('D');
  });

  it('have countries by unambiguous names and by alpha-3 codes', () => {
    expect(
      ['DEU', 'aut', 'Deutschland', 'SWEDEN', 'España', 'Italia', 'Côte d’Ivoire'].map((one) =>
        countryOf(one),
      ),
    ).toEqual(['DE', 'AT', 'DE', 'SE', 'ES', 'IT', 'CI']);
    expect(['Narnia', 'Congo', 'de', 'XYZ'].map((one) => countryOf(one))).toEqual([
      'Narnia',
      'Congo',
      'de',
      'XYZ',
    ]);
    // Products take alpha-3 codes as they are, and an earlier load may have stored them.
    expect([countryOf('DEU', 'products'), countryOf('Schweden', 'products')]).toEqual(['DEU', 'SE']);
  });

  it('have lists, words for true and false, and days converted to the types of their fields', () => {
    expect(valueOf('certifications', 'FSC; PEFC;', {}, 'suppliers')).toEqual(['FSC', 'PEFC']);
    expect(valueOf('certifications', 'FSC, PEFC', {}, 'suppliers')).toEqual(['FSC', 'PEFC']);
    expect(valueOf('certifications', 'A/B', { lists: '/' }, 'suppliers')).toEqual(['A', 'B']);
    expect(valueOf('isEuOrigin', 'Ja', {}, 'suppliers')).toBe(true);
    expect(valueOf('isEuOrigin', 0, {}, 'suppliers')).toBe(false);
    expect(valueOf('isEuOrigin', 'vielleicht', {}, 'suppliers')).toMatch('neither true nor false');
    expect(valueOf('isEuOrigin', 'si', { true: ['SI'] }, 'suppliers')).toBe(true);
    expect(valueOf('receivedDate', new Date('2026-03-31T00:00:00Z'))).toBe('2026-03-31');
    // The same days as from CSV: no format of Excel has a zone.
    expect(valueOf('receivedDate', new Date('2026-03-31T13:40:48Z'))).toBe('2026-03-31');
    expect(valueOf('receivedDate', '00000000')).toBeUndefined();
    expect(valueOf('quantity', '12,x')).toMatch('wrong: quantity: "12,x" is no number with a decimal comma');
  });

  it('leave out empty cells, or clear their fields where a map says so', () => {
    expect(made({})).toEqual({ externalId: 'B-1' });
    expect(made({ emptyClears: true })).toEqual({ externalId: 'B-1', unit: null });
    expect(made({ constants: { unit: 'kg' } })).toEqual({ externalId: 'B-1', unit: 'kg' });
  });

  it('with more cells than the header are rejected under their id', () => {
    const { make } = itemsOfCells(table(['batchNumber', 'externalId']), {});
    expect(make(['1', 'B-1', '', ''])).toEqual({ batchNumber: '1', externalId: 'B-1' });
    expect(make(['1', 'B-1', 'x'])).toMatchObject({
      id: 'B-1',
      reason: expect.stringContaining('3 cells where the header has 2'),
    });
    expect(make(['1'])).toEqual({ batchNumber: '1' });
    const sheet = { ...table(['externalId']), delimiter: undefined };
    expect(itemsOfCells(sheet, {}).make(['B-1', 'note'])).toMatchObject({
      reason: '2 cells where the header has 1: name the columns of the others',
    });
  });

  it('stop the load where numbers or days can be read in two ways', () => {
    expect(looking('quantity', ['12,5'])).toEqual(['decimal comma, as in "12,5"']);
    expect(looking('quantity', ['1.250'])[0]).toContain('because of the semicolons: "1.250" is thousands');
    expect(() => looking('quantity', ['1.250'], {}, '\t')).toThrow(
      'can be thousands or a fraction: say --decimal',
    );
    expect(() => looking('quantity', ['1,5', '1.5'])).toThrow('has "1,5" and "1.5": say --decimal');
    expect(looking('quantity', ['1,5', '1.5'], { decimal: '.' })).toEqual([]);
    expect(() => looking('receivedDate', ['03/04/2026'])).toThrow(
      'can be DD/MM/YYYY or MM/DD/YYYY: say --dates',
    );
    expect(() => looking('receivedDate', ['soon'])).toThrow('has "soon", which is no date');
    expect(() => looking('receivedDate', ['0000-00-00', '2026-03-31', 'NULL'])).toThrow(
      'has "NULL", which is no date',
    );
  });

  it('of JSON files keep their fields without a map, and get the fields that a map says', () => {
    expect(itemsOfObjects('batches', {})({ externalId: 'B', contry: 1, '#row': 4, '#reason': '' })).toEqual({
      externalId: 'B',
      contry: 1,
    });
    const columns = { nr: 'externalId', menge: 'quantity', am: 'receivedDate' };
    const make = itemsOfObjects('batches', { columns, decimal: ',', dates: 'DD.MM.YYYY' });
    expect(make({ nr: 7, menge: '1,5', am: '31.03.2026', other: true })).toEqual({
      externalId: '7',
      quantity: 1.5,
      receivedDate: '2026-03-31',
    });
    // Prune takes the record of a rejected row for loaded, by this id.
    expect(make({ menge: 'viel', nr: 7 })).toMatchObject({
      reason: expect.stringMatching(/^"menge" \(quantity\): /),
      id: '7',
    });
  });
});

describe('a map', () => {
  it('is found by the name of a file, and of a sheet', () => {
    const map = parseMap(
      { 'lief*.csv': { kind: 'suppliers' }, 'b.xlsx#März': { kind: 'batches' } },
      'map.json',
    );
    expect(rulesFor(map, 'Lieferanten.CSV')).toEqual({ kind: 'suppliers' });
    expect(rulesFor(map, 'lief.csv.bak')).toBeUndefined();
    expect(rulesFor(map, 'b.xlsx', 'März')).toEqual({ kind: 'batches' });
    expect(rulesFor(map, 'b.xlsx', 'April')).toBeUndefined();
  });

  it('is found by the name of a file or a sheet that has a #', () => {
    const map = parseMap(
      { 'Halle #2.xlsx#Los #1': { kind: 'batches' }, 'Halle #*.csv': { kind: 'suppliers' } },
      'map.json',
    );
    expect(rulesFor(map, 'Halle #2.xlsx', 'Los #1')).toEqual({ kind: 'batches' });
    expect(rulesFor(map, 'Halle #2.xlsx', 'Los #2')).toBeUndefined();
    expect(rulesFor(map, 'Halle #3.csv')).toEqual({ kind: 'suppliers' });
  });

  it('stops the load for an unknown key', () => {
    expect(() => parseMap({ 'a.csv': { colums: {} } }, 'map.json')).toThrow('the nearest is "columns"');
    expect(() => parseMap({ 'a.csv': { kind: 'vendors' } }, 'map.json')).toThrow(
      '"kind" of "a.csv" is not suppliers',
    );
    expect(() => parseMap([], 'map.json')).toThrow('is no object');
  });
});
