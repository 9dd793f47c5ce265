// Names that a caller has misspelt: ignored, as the contract has it, and said so; with strict handling refused, each with the
// nearest known one.
import { Product } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openWorld, type Plural, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startBatches()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const strict = { strict: true };
const whole = {
  suppliers: { externalId: 'a', name: 'N' },
  products: { externalId: 'p', name: 'N' },
  batches: { externalId: 'b', productExternalId: 'p', batchNumber: '1' },
} as const;

/** By the list in which a field stands, what a caller wrote and what it meant. */
const misspelt: readonly [Plural, string, string][] = [
  ['suppliers', 'contry', 'country'],
  ['suppliers', 'Country', 'country'],
  ['suppliers', 'conutry', 'country'],
  ['suppliers', 'adress', 'address'],
  ['suppliers', 'contactperson', 'contactPerson'],
  ['suppliers', 'contact_person', 'contactPerson'],
  ['suppliers', 'e-mail', 'email'],
  ['suppliers', 'phonee', 'phone'],
  ['suppliers', 'certification', 'certifications'],
  ['suppliers', 'isEUOrigin', 'isEuOrigin'],
  ['suppliers', 'isEuOrigen', 'isEuOrigin'],
  ['suppliers', 'cod', 'code'],
  ['suppliers', 'nmae', 'name'],
  ['suppliers', 'externalID', 'externalId'],
  ['products', 'hscode', 'hsCode'],
  ['products', 'hs_code', 'hsCode'],
  ['products', 'categorie', 'category'],
  ['products', 'units', 'unit'],
  ['products', 'supplierExternalID', 'supplierExternalId'],
  ['products', 'suplierExternalId', 'supplierExternalId'],
  ['products', 'coutnry', 'country'],
  ['batches', 'qantity', 'quantity'],
  ['batches', 'quantitiy', 'quantity'],
  ['batches', 'recievedDate', 'receivedDate'],
  ['batches', 'received_date', 'receivedDate'],
  ['batches', 'expirydate', 'expiryDate'],
  ['batches', 'expireDate', 'expiryDate'],
  ['batches', 'batch_number', 'batchNumber'],
  ['batches', 'productExternalID', 'productExternalId'],
  ['batches', 'unti', 'unit'],
];

describe('a strict push', () => {
  it('names each of thirty misspelt fields with the most similar known field', async () => {
    expect(misspelt).toHaveLength(30);
    const caller = world.caller();
    await caller.push('products', [whole.products]);
    for (const plural of ['suppliers', 'products', 'batches'] as const) {
      const some = misspelt.filter((one) => one[0] === plural);
      const items = some.map(([, wrong], index) => ({
        ...whole[plural],
        externalId: `i${index}`,
        [wrong]: null,
      }));
      const answer = await caller.push(plural, items, {}, strict);
      expect(answer).toMatchObject({ success: false, created: 0, updated: 0 });
      expect(answer.errors).toEqual(
        some.map(([, wrong, meant], index) => ({
          externalId: `i${index}`,
          error: `unknown field "${wrong}": the nearest known one is "${meant}"`,
        })),
      );
      expect(answer.records.every(({ status }) => status === 'ERROR')).toBe(true);
    }
    expect(await caller.list('suppliers')).toMatchObject({ total: 0 });
  });

  it('fails a misspelt item alone, with all of its errors', async () => {
    const caller = world.caller();
    const items = [whole.suppliers, { externalId: 'b', contry: 'SE', country: 'XX' }, 7];
    const { details, errors, created } = await caller.pushDetailed('suppliers', items, {}, true);
    expect(created).toBe(1);
    expect(errors[0]?.error).toMatch(/^Supplier name is required; country: .*; unknown field "contry": .*$/);
    expect(details).toMatchObject([
      { action: 'created', problems: [], ignored: [] },
      {
        action: 'failed',
        problems: [
          { pointer: '/suppliers/1/name', code: 'required' },
          { pointer: '/suppliers/1/country', code: 'wrong_value' },
          { pointer: '/suppliers/1/contry', code: 'unknown_field' },
        ],
        ignored: [],
      },
      { action: 'failed', problems: [{ pointer: '/suppliers/2', code: 'not_an_object' }], ignored: [] },
    ]);
    expect((await caller.plan('suppliers', items, {}, strict)).details.map(({ action }) => action)).toEqual([
      'unchanged',
      'failed',
      'failed',
    ]);
  });

  it.each([
    ['suppliers', 'assume', 'suppliers'],
    ['suppliers', 'autoCreateDDS', 'suppliers'],
    ['batches', 'autoCreateDds', 'autoCreateDDS'],
    ['batches', 'batch', 'batches'],
  ] as const)('of %s refuses the key %s, and writes nothing', async (plural, key, nearest) => {
    const caller = world.caller();
    await expect(caller.push(plural, [whole[plural]], { [key]: true }, strict)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: `/${key}`, detail: `unknown key "${key}": the nearest known one is "${nearest}"` }],
    });
    expect(await caller.runs()).toMatchObject({ total: 0 });
  });

  it('accepts the parameter assume in a plan, and refuses unknown keys of a plan', async () => {
    const caller = world.caller();
    const planned = await caller.plan('products', [whole.products], { assume: ['a'] }, strict);
    expect(planned.success).toBe(true);
    await expect(caller.plan('products', [], { assumed: [] }, strict)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/assumed', detail: 'unknown key "assumed": the nearest known one is "assume"' }],
    });
  });

  it('of many unknown fields and keys has a short answer', async () => {
    const caller = world.caller();
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`field${index}`, 0]));
    const { errors } = await caller.push('suppliers', [{ ...whole.suppliers, ...many }], {}, strict);
    expect(errors[0]?.error.split('; ')).toHaveLength(10);
    await expect(caller.push('suppliers', [], many, strict)).rejects.toMatchObject({
      errors: Array.from({ length: 10 }, (_, index) => ({ pointer: `/field${index}` })),
    });
  });
});

describe('a push that is not strict', () => {
  it('ignores misspelt fields and keys, and names them in details', async () => {
    const [plain, detailed, planned] = [world.caller(), world.caller(), world.caller()];
    const body = `{"suppliers":[{"externalId":"a","name":"N","contry":"SE","a/b~c":1,"__proto__":2},{"contry":1},null],"asume":1}`;
    const answer = await plain.pushText('suppliers', body);
    expect(Object.keys(answer)).toEqual(['success', 'created', 'updated', 'errors', 'records', 'syncId']);
    const ignored = [
      ['/suppliers/0/contry', '/suppliers/0/a~1b~0c', '/suppliers/0/__proto__'],
      ['/suppliers/1/contry'],
      [],
    ];
    const plan = await planned.plan('suppliers', JSON.parse(body).suppliers, { asume: 1 });
    expect(plan.details.map((one) => one.ignored)).toEqual(ignored);
    const pushed = await detailed.pushText('suppliers', body, { query: 'details=true' });
    expect(pushed).toMatchObject({ created: 1, unchanged: 0, details: plan.details });
    expect((await plain.list('suppliers', 'details=true')).entities).toMatchObject([
      { externalId: 'a', details: { fields: { name: 'N' } } },
    ]);
    expect(await plain.pushText('suppliers', body, { query: 'details=false' })).not.toHaveProperty('details');
  });

  it.each(['details=yes', 'details=', 'details=true&details=true', 'details=TRUE'])(
    'with %s is refused, and writes nothing',
    async (query) => {
      const caller = world.caller();
      await expect(caller.push('suppliers', [whole.suppliers], {}, { query })).rejects.toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: 'details' }],
      });
      expect([await caller.runs(), await caller.list('suppliers')]).toMatchObject([
        { total: 0 },
        { total: 0 },
      ]);
    },
  );

  it('is refused with the errors of its query and of its body together', async () => {
    const caller = world.caller();
    await expect(
      caller.pushText('batches', '{"autoCreateDDS":1}', { query: 'details=yes' }),
    ).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: 'details' }, { pointer: '/batches' }, { pointer: '/autoCreateDDS' }],
    });
  });
});

describe('a push of 500 items of 200 columns, of which half are absent', () => {
  const columns = Array.from({ length: 200 }, (_, at) => `column ${at}`);
  const present = (index: number): string[] => columns.filter((_, at) => (index * 7 + at * at) % 5 > 1);
  const items = Array.from({ length: 500 }, (_, index) => ({
    ...Object.fromEntries(present(index).map((column) => [column, index])),
    externalId: `S-${index}`,
    name: `Name ${index}`,
    ...(index % 2 === 0 && { country: 'SE' }),
  }));
  const firstOf = (index: number): string[] => present(index).slice(0, 10);

  it('stores each known field, and names the first ten unknown fields of each item', async () => {
    const caller = world.caller();
    const { created, details } = await caller.pushDetailed('suppliers', items);
    expect(created).toBe(500);
    expect(details.map(({ ignored }) => ignored)).toEqual(
      items.map((_, index) => firstOf(index).map((column) => `/suppliers/${index}/${column}`)),
    );
    const again = await caller.push(
      'suppliers',
      items.map(({ externalId, name, country = null }) => ({ externalId, name, country })),
      {},
      { query: 'details=true' },
    );
    expect(again).toMatchObject({ unchanged: 500 });
  });

  it('in strict handling names the first ten unknown fields of each item as its errors', async () => {
    const { created, errors } = await world.caller().push('suppliers', items, {}, strict);
    expect({ created, errors: errors.length }).toEqual({ created: 0, errors: 500 });
    for (const [index, { error }] of errors.entries())
      expect(error.split('; ').map((one) => /"(?<name>.*?)"/.exec(one)?.groups?.['name'])).toEqual(
        firstOf(index),
      );
  });
});

/** Ids of four bytes a character, which errors name whole. */
const idOf = (index: number): string => `${'🌲'.repeat(252)}${String(index).padStart(3, '0')}`;

describe('a push of which nearly everything is wrong', () => {
  const { externalId: _id, supplierExternalId: _supplier, ...properties } = Product.properties;
  const bad = (index: number, character: string) => ({
    externalId: idOf(index),
    supplierExternalId: idOf(index),
    ...Object.fromEntries(Object.keys(properties).map((name) => [name, `${character.repeat(41)}\0`])),
    ...Object.fromEntries(Array.from({ length: 10 }, (_, nth) => [`${nth}${character.repeat(99)}`, 1])),
  });

  it.each([
    ['control characters', '\u0001'],
    ['quotation marks', '"'],
    ['characters of four bytes', '🌲'],
    ['characters of three bytes', '木'],
  ])('with details and strict handling is answered completely: %s', async (_what, character) => {
    const caller = world.caller();
    const items = [whole.products, ...Array.from({ length: 499 }, (_, index) => bad(index, character))];
    const { created, errors, details } = await caller.pushDetailed('products', items, {}, true);
    expect({ created, errors: errors.length }).toEqual({ created: 1, errors: 499 });
    expect(details[1]?.problems).toHaveLength(Object.keys(properties).length + 11);
    expect((await caller.list('products')).total).toBe(1);
  });
});

it('a run has the action push, archive or erase', async () => {
  const caller = world.caller();
  await caller.push('suppliers', [whole.suppliers]);
  await caller.archive('suppliers', ['a']);
  const { syncId } = await caller.erase(['a']);
  await caller.push('products', [whole.products]);
  await caller.push('batches', [whole.batches]);
  await caller.archive('batches', ['b']);
  expect((await caller.runs()).entities.map(({ entityType, action }) => `${entityType} ${action}`)).toEqual([
    'batch archive',
    'batch push',
    'product push',
    'supplier erase',
    'supplier archive',
    'supplier push',
  ]);
  expect(await caller.run(syncId)).toMatchObject({ action: 'erase', entityType: 'supplier' });
  const [batch] = (await caller.runs('entityType=batch')).entities;
  expect(await caller.run(batch?.syncId ?? '')).toMatchObject({ action: 'archive', entityType: 'batch' });
});
