import { Batch, Failure, Supplier } from '@integration-sync/contracts';
import { describe, expect, it } from 'vitest';
import { readPush } from '../../../shared/sync/src/items/push-body.ts';
import type { Kind } from '../../../shared/sync/src/kind.ts';

const suppliers: Kind = {
  entityType: 'supplier',
  plural: 'suppliers',
  idPrefix: 'sup',
  schema: Supplier,
  nameField: 'name',
};
const batches: Kind = {
  entityType: 'batch',
  plural: 'batches',
  idPrefix: 'bat',
  schema: Batch,
  nameField: 'batchNumber',
  drafting: {
    flag: 'autoCreateDDS',
    answerKey: 'ddsCreated',
    collection: 'dds',
    idPrefix: 'dds',
    follows: [],
    isWanted: () => false,
    shown: (stored) => stored,
    draft() {
      throw new Error('nothing is drafted here');
    },
  },
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function refusalOf(kind: Kind, body: Uint8Array): Failure {
  try {
    readPush(kind, body);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('the body was taken');
}

const push = (count: number) => bytes(JSON.stringify({ suppliers: Array.from({ length: count }, () => 0) }));

describe('a push body', () => {
  it('is an object with its array, and any other keys', () => {
    const body = bytes('{"suppliers":[1,{"a":2}],"products":5,"autoCreateDDS":"yes"}');
    expect(readPush(suppliers, body)).toEqual({ items: [1, { a: 2 }], drafting: false, assume: [] });
  });

  it('may have no items', () => {
    expect(readPush(suppliers, bytes('{"suppliers":[]}')).items).toEqual([]);
  });

  it('may begin with a byte order mark, and be a view of a larger buffer', () => {
    const body = bytes('xx\uFEFF{"suppliers":[]}').subarray(2);
    expect(readPush(suppliers, body).items).toEqual([]);
  });

  it('has the value of the last of duplicate keys', () => {
    expect(readPush(suppliers, bytes('{"suppliers":[1],"suppliers":[2]}')).items).toEqual([2]);
  });

  it('has autoCreateDDS as a boolean', () => {
    expect(readPush(batches, bytes('{"batches":[],"autoCreateDDS":true}')).drafting).toBe(true);
    expect(readPush(batches, bytes('{"batches":[],"autoCreateDDS":false}')).drafting).toBe(false);
    expect(readPush(batches, bytes('{"batches":[]}')).drafting).toBe(false);
  });

  it('has at most 500 items', () => {
    expect(readPush(suppliers, push(500)).items).toHaveLength(500);
    const refusal = refusalOf(suppliers, push(501));
    expect(refusal.code).toBe('too_many_items');
    expect(refusal.detail).toBe('A push takes at most 500 items; this one has 501.');
  });
});

describe('a body that is not JSON', () => {
  it.each([
    '',
    ' ',
    '{',
    '{"suppliers":[}',
    'suppliers=1',
    "{'suppliers':[]}",
    '{"suppliers":[NaN]}',
    '[1,]',
  ])('is refused as %j', (text) => {
    expect(refusalOf(suppliers, bytes(text)).code).toBe('invalid_json');
  });

  it('includes bytes that are not UTF-8', () => {
    const refusal = refusalOf(suppliers, Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x7d]));
    expect(refusal).toMatchObject({ code: 'invalid_json', detail: 'The body is not valid UTF-8.' });
  });

  it('is refused by an error that does not quote the body', () => {
    expect(refusalOf(suppliers, bytes('{"secret":"hunter2"')).detail).toBe(
      'The body is not valid JSON (line 1, column 20).',
    );
    expect(refusalOf(suppliers, bytes('{"suppliers":[]}\n\nhunter2')).detail).toBe(
      'The body is not valid JSON (line 3, column 1).',
    );
    expect(refusalOf(suppliers, bytes('{"suppliers":')).detail).toBe(
      'The body is not valid JSON: it ends too early.',
    );
  });
});

describe('a body of another form', () => {
  it.each(['[]', '5', 'null', '"suppliers"', 'true'])('is refused as %s', (text) => {
    expect(refusalOf(suppliers, bytes(text))).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '' }],
    });
  });

  it.each([
    '{}',
    '{"suppliers":null}',
    '{"suppliers":{}}',
    '{"suppliers":"a"}',
    '{"batches":[]}',
    '{"__proto__":{"suppliers":[]}}',
  ])('is refused without its array: %s', (text) => {
    expect(refusalOf(suppliers, bytes(text))).toMatchObject({
      code: 'invalid_request',
      detail: 'The body must hold an array "suppliers".',
      errors: [{ pointer: '/suppliers' }],
    });
  });

  it.each(['null', '"true"', '1', '[]', '{}'])('is refused where autoCreateDDS is %s', (flag) => {
    expect(refusalOf(batches, bytes(`{"batches":[],"autoCreateDDS":${flag}}`))).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/autoCreateDDS' }],
    });
  });

  it.each(['{"autoCreateDDS":"yes"}', '{"batches":null,"autoCreateDDS":null}'])(
    'is refused with all of its errors: %s',
    (text) => {
      expect(refusalOf(batches, bytes(text))).toMatchObject({
        code: 'invalid_request',
        detail: 'The body must hold an array "batches". "autoCreateDDS" must be true or false.',
        errors: [
          { pointer: '/batches', detail: 'The body must hold an array "batches".' },
          { pointer: '/autoCreateDDS', detail: '"autoCreateDDS" must be true or false.' },
        ],
      });
    },
  );

  it('is refused for its form before its count, and for its count before its items', () => {
    const many = JSON.stringify(Array.from({ length: 501 }, () => null));
    expect(refusalOf(batches, bytes(`{"batches":${many},"autoCreateDDS":1}`)).code).toBe('invalid_request');
    expect(refusalOf(batches, bytes(`{"batches":${many}}`)).code).toBe('too_many_items');
  });
});
