import { Batch, Product, Supplier } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileValidator } from '../../../shared/sync/src/items/validate.ts';

const validate = {
  supplier: compileValidator(Supplier),
  product: compileValidator(Product),
  batch: compileValidator(Batch),
};

const supplier = { externalId: 'S-1', name: 'Nordic Timber AB' };
const product = { externalId: 'P-1', name: 'Oak plank' };
const batch = { externalId: 'B-1', productExternalId: 'P-1', batchNumber: 'LOT 1' };

const reasons = (kind: keyof typeof validate, item: unknown): string[] => [
  ...validate[kind](item).reasons.values(),
];

/** Every optional field but those, at one value. */
const cleared = (schema: { properties: object; required?: string[] }, value: unknown, but: string[]) =>
  Object.fromEntries(
    Object.keys(schema.properties)
      .filter((name) => !schema.required?.includes(name) && !but.includes(name))
      .map((name) => [name, value]),
  );

describe('a country', () => {
  it.each(['ſe', 'ıT', 'ＤＥ', 'XX', 'D', 'S E', 'de\n'])('is not %j', (country) => {
    expect(reasons('supplier', { ...supplier, country })).toEqual([
      expect.stringMatching(/^country: expected an assigned ISO 3166-1 alpha-2 country code/),
    ]);
    expect(reasons('product', { ...product, country })).toHaveLength(1);
  });
});

describe('a valid item', () => {
  it('needs no more than its required fields', () => {
    expect(reasons('supplier', supplier)).toEqual([]);
    expect(reasons('product', product)).toEqual([]);
    expect(reasons('batch', batch)).toEqual([]);
  });

  it('may have every field', () => {
    expect(
      reasons('supplier', {
        ...supplier,
        code: 'V-1042',
        country: 'se',
        address: 'Hamngatan 1',
        contactPerson: 'Anna Lind',
        email: 'anna@nordictimber.example',
        phone: '+46 8 123 456',
        certifications: ['FSC', 'PEFC'],
        isEuOrigin: true,
      }),
    ).toEqual([]);
    expect(
      reasons('product', {
        ...product,
        category: 'Wood',
        country: 'deu',
        hsCode: '4407.91-0 0',
        unit: 'm³',
        code: 'SKU-1',
        supplierExternalId: 'S-1',
      }),
    ).toEqual([]);
    expect(
      reasons('batch', {
        ...batch,
        quantity: 0,
        unit: 'kg',
        receivedDate: '2024-02-29',
        expiryDate: '2026-03-31T09:26:53.589+02:00',
      }),
    ).toEqual([]);
  });

  it('may clear every optional field with null, and text and dates with an empty text', () => {
    expect(reasons('supplier', { ...supplier, ...cleared(Supplier, null, []) })).toEqual([]);
    expect(reasons('product', { ...product, ...cleared(Product, null, []) })).toEqual([]);
    expect(reasons('batch', { ...batch, ...cleared(Batch, null, []) })).toEqual([]);
    expect(
      reasons('supplier', { ...supplier, ...cleared(Supplier, '', ['certifications', 'isEuOrigin']) }),
    ).toEqual([]);
    expect(reasons('product', { ...product, ...cleared(Product, '', []) })).toEqual([]);
    expect(reasons('batch', { ...batch, ...cleared(Batch, '', ['quantity']) })).toEqual([]);
  });

  it('may have unknown fields, however they are named or nested', () => {
    const nested: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
    const odd: unknown = JSON.parse(
      '{"externalId":"S-1","name":"N","__proto__":{"name":5},"constructor":1,"$set":{"a":1},"a.b":2}',
    );
    expect(reasons('supplier', odd)).toEqual([]);
    expect(reasons('supplier', { ...supplier, colour: nested })).toEqual([]);
  });

  it('has lengths that count code points, not code units', () => {
    expect(reasons('supplier', { ...supplier, name: '🌲'.repeat(500) })).toEqual([]);
    expect(reasons('supplier', { ...supplier, externalId: '🌲'.repeat(255) })).toEqual([]);
    expect(reasons('supplier', { ...supplier, externalId: '🌲'.repeat(256) })).toHaveLength(1);
  });

  it('keeps the blanks around its externalId', () => {
    expect(validate.supplier({ ...supplier, externalId: ' a ' })).toMatchObject({
      externalId: ' a ',
      reasons: new Map(),
    });
  });
});

describe('a required field', () => {
  const missing = [undefined, null, '', '   ', '\t\n', '\u00a0\u3000'];

  it.each([
    ['supplier', supplier, 'externalId', 'externalId is required'],
    ['supplier', supplier, 'name', 'Supplier name is required'],
    ['product', product, 'externalId', 'externalId is required'],
    ['product', product, 'name', 'Product name is required'],
    ['batch', batch, 'externalId', 'externalId is required'],
    ['batch', batch, 'productExternalId', 'Product externalId is required'],
    ['batch', batch, 'batchNumber', 'Batch number is required'],
  ] as const)('of a %s is named by its own message: %s.%s', (kind, item, field, message) => {
    for (const value of missing) expect(reasons(kind, { ...item, [field]: value })).toEqual([message]);
    const { [field]: _left, ...without } = item as Record<string, unknown>;
    expect(reasons(kind, without)).toEqual([message]);
  });

  it.each([
    [5, '5'],
    [true, 'true'],
    [['a'], 'an array'],
    [{ a: 1 }, 'an object'],
  ])('is not reported as missing when it is %j', (value, came) => {
    expect(reasons('supplier', { ...supplier, name: value })).toEqual([
      `name: expected a string of at most 500 characters, without NUL or lone surrogates, got ${came}`,
    ]);
  });

  it('is not reported as missing when it is too long', () => {
    expect(reasons('supplier', { ...supplier, name: 'x'.repeat(501) })).toEqual([
      `name: expected a string of at most 500 characters, without NUL or lone surrogates, got "${'x'.repeat(40)}…" (501 characters)`,
    ]);
    expect(reasons('supplier', { ...supplier, name: 'x'.repeat(500) })).toEqual([]);
  });
});

describe('an identifier', () => {
  it.each([
    ['x'.repeat(256), `"${'x'.repeat(40)}…" (256 characters)`],
    ['🌲'.repeat(300), `"${'🌲'.repeat(40)}…" (300 characters)`],
    ['a\u0000b', String.raw`"a\u0000b"`],
    ['a\nb', String.raw`"a\nb"`],
    ['a\u0085b', '"a\u0085b"'],
    ['a\ud800b', String.raw`"a\ud800b"`],
    ['\udc00', String.raw`"\udc00"`],
    [7, '7'],
  ])('is refused as %j, and is not usable', (value, came) => {
    const expected = `a string of 1 to 255 characters that is not blank and has no control characters, got ${came}`;
    const verdict = validate.supplier({ ...supplier, externalId: value });
    expect([...verdict.reasons.values()]).toEqual([`externalId: expected ${expected}`]);
    expect(verdict.externalId).toBe('');
    expect(reasons('batch', { ...batch, productExternalId: value })).toEqual([
      `productExternalId: expected ${expected}`,
    ]);
    expect(reasons('product', { ...product, supplierExternalId: value })).toEqual([
      `supplierExternalId: expected ${expected}`,
    ]);
  });

  it('is returned although other fields are missing or wrong', () => {
    expect(validate.supplier({ externalId: 'S-1' })).toMatchObject({ externalId: 'S-1' });
  });
});

describe('a wrong value', () => {
  const country = 'an assigned ISO 3166-1 alpha-2 country code, such as "DE"';
  const origin = 'an assigned ISO 3166-1 country code of two or three letters, such as "DE" or "DEU"';
  const text = 'a string of at most 500 characters, without NUL or lone surrogates';
  const hsCode = '2 to 12 digits, which dots, spaces and hyphens may separate';
  const date = 'a calendar day such as "2026-03-31", or an RFC 3339 date-time with Z or an offset';
  const email = 'an e-mail address of at most 500 characters, such as "anna@example.com"';
  const amount = 'a finite number of 0 or more';
  const texts =
    'an array of at most 100 strings of at most 500 characters each, without NUL or lone surrogates';

  it.each([
    ['supplier', 'country', 'UK', `${country}, got "UK" (use "GB")`],
    ['supplier', 'country', 'uk', `${country}, got "uk" (use "GB")`],
    ['supplier', 'country', 'DEU', `${country}, got "DEU" (use "DE")`],
    ['supplier', 'country', 'gbr', `${country}, got "gbr" (use "GB")`],
    ['supplier', 'country', 'ZZZ', `${country}, got "ZZZ"`],
    ['supplier', 'country', 'XX', `${country}, got "XX"`],
    ['supplier', 'country', 5, `${country}, got 5`],
    ['product', 'country', 'UK', `${origin}, got "UK" (use "GB")`],
    ['product', 'country', 'ZZZ', `${origin}, got "ZZZ"`],
    ['supplier', 'code', 5, `${text}, got 5`],
    ['supplier', 'code', 'a\u0000', String.raw`${text}, got "a\u0000"`],
    ['supplier', 'phone', '\ud83c', String.raw`${text}, got "\ud83c"`],
    ['supplier', 'contactPerson', 'x'.repeat(501), `${text}, got "${'x'.repeat(40)}…" (501 characters)`],
    ['supplier', 'code', `${'x'.repeat(611)}\u0000`, `${text}, got "${'x'.repeat(40)}…" (612 characters)`],
    [
      'supplier',
      'address',
      'x'.repeat(1001),
      `a string of at most 1000 characters, without NUL or lone surrogates, got "${'x'.repeat(40)}…" (1001 characters)`,
    ],
    ['supplier', 'email', 'UK', `${email}, got "UK"`],
    [
      'supplier',
      'email',
      `a@${'b.'.repeat(300)}de`,
      `${email}, got "a@${'b.'.repeat(19)}…" (604 characters)`,
    ],
    ['supplier', 'email', 'anna at example', `${email}, got "anna at example"`],
    [
      'supplier',
      'certifications',
      ['FSC', 'x'.repeat(501)],
      `${texts}, got "${'x'.repeat(40)}…" at index 1 (501 characters)`,
    ],
    ['supplier', 'certifications', 'FSC', `${texts}, got "FSC"`],
    ['supplier', 'certifications', '', `${texts}, got ""`],
    ['supplier', 'certifications', ['FSC', 5, 6], `${texts}, got 5 at index 1`],
    ['supplier', 'certifications', [null], `${texts}, got null at index 0`],
    ['supplier', 'certifications', Array.from({ length: 101 }, () => 'FSC'), `${texts}, got an array of 101`],
    ['supplier', 'certifications', { 0: 'FSC' }, `${texts}, got an object`],
    ['supplier', 'isEuOrigin', 'true', 'true or false, got "true"'],
    ['supplier', 'isEuOrigin', '', 'true or false, got ""'],
    ['supplier', 'isEuOrigin', 1, 'true or false, got 1'],
    ['product', 'hsCode', '1', `${hsCode}, got "1"`],
    ['product', 'hsCode', '1234567890123', `${hsCode}, got "1234567890123"`],
    ['product', 'hsCode', '44/07', `${hsCode}, got "44/07"`],
    ['product', 'hsCode', '44\n07', String.raw`${hsCode}, got "44\n07"`],
    ['product', 'hsCode', `44${'.'.repeat(500)}`, `${hsCode}, got "44${'.'.repeat(38)}…" (502 characters)`],
    ['product', 'hsCode', 'UK', `${hsCode}, got "UK"`],
    ['product', 'hsCode', 4407, `${hsCode}, got 4407`],
    [
      'product',
      'unit',
      'x'.repeat(33),
      `a string of at most 32 characters, without NUL or lone surrogates, got "${'x'.repeat(33)}" (33 characters)`,
    ],
    ['batch', 'quantity', '5', `${amount}, got "5"`],
    ['batch', 'quantity', '', `${amount}, got ""`],
    ['batch', 'quantity', -0.1, `${amount}, got -0.1`],
    ['batch', 'quantity', Number('1e400'), `${amount}, got Infinity`],
    ['batch', 'quantity', [5], `${amount}, got an array`],
    ['batch', 'receivedDate', '2024-02-30', `${date}, got "2024-02-30"`],
    ['batch', 'receivedDate', '2023-02-29', `${date}, got "2023-02-29"`],
    ['batch', 'receivedDate', '2024-06-30T23:59:60Z', `${date}, got "2024-06-30T23:59:60Z"`],
    ['batch', 'receivedDate', '2024-06-30T12:00:00', `${date}, got "2024-06-30T12:00:00"`],
    ['batch', 'expiryDate', '31.03.2026', `${date}, got "31.03.2026"`],
    ['batch', 'expiryDate', 'UK', `${date}, got "UK"`],
    ['batch', 'expiryDate', 'DEU', `${date}, got "DEU"`],
    ['batch', 'expiryDate', 20260331, `${date}, got 20260331`],
  ] as const)(
    '%s.%s = %j is reported with the field, the expectation and the value',
    (kind, field, value, said) => {
      const right = { supplier, product, batch }[kind];
      expect(reasons(kind, { ...right, [field]: value })).toEqual([`${field}: expected ${said}`]);
    },
  );

  it('has one reason for each field, in the order of fields, however many faults the field has', () => {
    const certifications = Array.from({ length: 100_000 }, () => 5);
    expect(
      reasons('supplier', { isEuOrigin: 3, certifications, country: 'XX', externalId: 'S-1' }).map((reason) =>
        reason.slice(0, 14),
      ),
    ).toEqual(['Supplier name ', 'country: expec', 'certifications', 'isEuOrigin: ex']);
  });

  it.each([
    [null, 'null'],
    [5, '5'],
    ['S-1', '"S-1"'],
    [[supplier], 'an array'],
    [true, 'true'],
  ])('that is no object (%j) has one reason', (value, came) => {
    expect(validate.supplier(value)).toMatchObject({
      externalId: '',
      reasons: new Map([['', `expected an object, got ${came}`]]),
    });
  });
});

// Three hundred documents take a second where nothing else runs, and longer beside others.
it('any JSON value is judged without an exception, and refused with a reason', { timeout: 60_000 }, () => {
  const field = fc.constantFrom(...Object.keys({ ...Supplier.properties, ...Batch.properties }), '__proto__');
  const odd = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary', maxLength: 600 }));
  fc.assert(
    fc.property(fc.oneof(odd, fc.dictionary(field, odd, { maxKeys: 6 })), (value) => {
      for (const judge of Object.values(validate)) {
        const { reasons: found, externalId } = judge(value);
        const said = [...found.values()];
        const sensible = said.every((reason) => reason.length > 10 && reason.length < 400);
        expect(sensible && (said.length > 0 || externalId !== '')).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});
