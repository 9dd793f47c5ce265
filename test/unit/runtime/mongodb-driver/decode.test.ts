import { Binary, BSON, Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { decode } from '../../../../shared/runtime/src/store/mongodb-driver/decode.ts';

const record = {
  _id: 'sup_0f',
  fields: { name: 'Nordic Timber AB', certifications: ['FSC', 'PEFC'], isEuOrigin: true, weight: 1.5 },
  push: 'sync_1',
  changed: ['name'],
  lastSyncedAt: new Date('2026-03-31T09:26:53.589Z'),
};

const documents: Readonly<Record<string, object>> = {
  'a record': record,
  nothing: {},
  'empty values': { text: '', array: [], document: {}, null: null },
  'texts beyond ASCII': { name: 'Läns 𝄞 €', läns: 'é', both: ['a', 'ü', 'b'], long: 'ö'.repeat(300) },
  'control characters': { text: 'a\u0000b\n', '\u007f': '\u007f' },
  numbers: {
    zero: 0,
    minus: -1,
    int: 2 ** 31 - 1,
    least: -(2 ** 31),
    large: 2 ** 40,
    part: -0.25,
    nan: Number.NaN,
  },
  dates: { several: [0, -1, 1_774_949_213_589, -62_135_596_800_000, 8.64e15].map((ms) => new Date(ms)) },
  'documents in documents': { a: { b: { c: [{ d: [1, [2, 'x']] }] } } },
  'more elements than digits': { array: Array.from({ length: 1_200 }, (_, index) => `n${index}`) },
  'names of the same length': { abc: 1, acb: 2, bac: 3, Aa: 4, BB: 5 },
  'values that this file does not know': {
    before: 'x',
    long: Long.fromString('9007199254740993'),
    bytes: new Binary(Buffer.from([1, 2])),
    id: new ObjectId(),
    pattern: /x/i,
    after: 'y',
  },
  'such a value in an array': { array: ['x', new ObjectId(), 'y'], after: 1 },
  'a prototype': JSON.parse('{"__proto__": {"x": 1}, "after": 1}') as object,
};

const { deserialize, serialize } = BSON;

describe('the BSON decoder', () => {
  it.each(Object.entries(documents))('decodes %s as the driver does', (_name, document) => {
    const bytes = serialize(document);
    const expected = deserialize(bytes);
    // Twice, as names that were read before are found again.
    expect(decode(bytes)).toStrictEqual(expected);
    expect(decode(bytes)).toStrictEqual(expected);
  });

  it('reads a document that is a part of a larger buffer', () => {
    const several = Buffer.concat([serialize({ other: 'x' }), serialize(record), serialize({ other: 'y' })]);
    const start = serialize({ other: 'x' }).length;
    expect(decode(several.subarray(start, start + serialize(record).length))).toStrictEqual(record);
  });

  it('reads thousands of different field names, also when they come again', () => {
    for (let round = 0; round < 3; round += 1) {
      for (let nth = 0; nth < 3_000; nth += 1) {
        expect(Object.keys(decode(serialize({ [`n${nth}`]: 1 })))).toStrictEqual([`n${nth}`]);
      }
    }
  });

  it('does not change the bytes', () => {
    const bytes = serialize(record);
    const before = Buffer.from(bytes);
    decode(bytes);
    expect(Buffer.compare(before, bytes)).toBe(0);
  });
});
