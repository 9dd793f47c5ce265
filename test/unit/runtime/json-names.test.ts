import { limits, unknownNamedMax } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { nameHider } from '../../../shared/runtime/src/json-structure.ts';
import { parseItems } from '../../../shared/runtime/src/json.ts';

const known = ['suppliers', 'externalId', 'name', 'größe', '__proto__'];
const hide = nameHider(known);

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const hidden = (text: string): string => new TextDecoder().decode(hide(bytes(text)));
const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** The value with its known names alone. */
function readable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .filter(([name]) => known.includes(name))
    .map(([name, of]) => [name, readable(of)]);
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const name = fc.oneof(fc.constantFrom(...known), fc.constantFrom('a', 'b', '', '\\', '"', 'ü'), fc.string());
const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small', maxDepth: 4, withCrossShrink: true },
    fc.jsonValue({ maxDepth: 0 }).map((value) => JSON.stringify(value)),
    fc.array(tie('text'), { maxLength: 3 }).map((values) => `[${values.join(' , ')}]`),
    fc
      .array(fc.tuple(name, fc.boolean(), tie('text')), { maxLength: 14 })
      .map(
        (entries) => `{${entries.map(([key, isEscaped, of]) => `${keyOf(key, isEscaped)} :${of}`).join()}}`,
      ),
  ),
}));

/** A key as JSON, every character of it as an escape if asked. */
const keyOf = (key: string, isEscaped: boolean): string =>
  isEscaped
    ? `"${numbersTo(key.length)
        .map((at) => String.raw`\u${key.charCodeAt(at).toString(16).padStart(4, '0')}`)
        .join('')}"`
    : JSON.stringify(key);

describe('the removal of unknown names from JSON', () => {
  it('keeps the values under known names, also where escapes spell a name', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(readable(JSON.parse(hidden(given)))).toEqual(readable(JSON.parse(given)));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([String.raw`\q`, String.raw`\u00g0`, '\u0001', 'a\nb', String.raw`a\u12`])(
    'keeps a key that is not valid JSON: %j',
    (key) => {
      const first = numbersTo(unknownNamedMax).map((at) => `"k${at}":1`);
      expect(isJson(hidden(`{${[...first, `"${key}":1`].join()}}`))).toBe(false);
    },
  );

  it('ends at the first invalid key: an exception for each of 100,000 such keys would take half a second', () => {
    using parse = vi.spyOn(JSON, 'parse');
    hide(
      bytes(
        `{${numbersTo(100)
          .map(() => String.raw`"\q":1`)
          .join()}}`,
      ),
    );
    expect(parse).toHaveBeenCalledTimes(1);
  });

  it('keeps invalid JSON invalid, and valid JSON valid', () => {
    const damaged = fc.tuple(text, fc.nat(), fc.constantFrom('', '"', '\\', ':', ',', '{', ']', '\n', 'u'));
    fc.assert(
      fc.property(damaged, ([given, at, part]) => {
        const from = at % (given.length + 1);
        const wrong = given.slice(0, from) + part + given.slice(from + 1);
        expect(isJson(hidden(wrong))).toBe(isJson(wrong));
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps the first unknown names of the body and of each item', () => {
    const columns = numbersTo(30).map((at) => `column ${at}`);
    const item = (at: number): object => ({
      ...Object.fromEntries(columns.map((column) => [column, at])),
      externalId: `S-${at}`,
    });
    const { suppliers } = JSON.parse(
      hidden(JSON.stringify({ suppliers: numbersTo(500).map(item), more: 1 })),
    );
    const first = columns.slice(0, unknownNamedMax);
    for (const supplier of suppliers) {
      const names = Object.keys(supplier);
      expect([...names.slice(0, unknownNamedMax), ...names.slice(-2)]).toEqual([...first, '', 'externalId']);
      // By the random seed of the process, an unknown name may have the hash of a known one, and stays.
      expect(names.length).toBeLessThanOrEqual(unknownNamedMax + 4);
    }
  });

  it('keeps the unknown names of the last item although every item contains objects', () => {
    const part = Object.fromEntries(numbersTo(15).map((at) => [`part ${at}`, at]));
    const given = { suppliers: numbersTo(500).map((at) => ({ name: at, one: part, other: part })) };
    const { suppliers } = JSON.parse(hidden(JSON.stringify(given)));
    expect(suppliers.map((supplier: object) => Object.keys(supplier))).toEqual(
      given.suppliers.map((supplier) => Object.keys(supplier)),
    );
  });

  it('keeps no more unknown names than the answer to a push may report', () => {
    const given = { suppliers: numbersTo(20_000).map((at) => ({ [`a${at}`]: 1, [`b${at}`]: 2, name: '' })) };
    const left = new Set<string>();
    JSON.parse(hidden(JSON.stringify(given)), (key: string, value: unknown) => left.add(key) && value);
    const unknown = [...left].filter((key) => /^[ab]/.test(key));
    const most = (limits.itemsPerPushMax + 1) * unknownNamedMax;
    expect(unknown.length).toBeGreaterThanOrEqual(most);
    // A few have the hash of a known name, by chance.
    expect(unknown.length).toBeLessThan(most + 100);
  });

  it('does not touch the bytes of the request', () => {
    const given = bytes(
      `{${numbersTo(20)
        .map((at) => `"k${at}":1`)
        .join()}}`,
    );
    const before = Uint8Array.from(given);
    expect(hide(given)).not.toEqual(before);
    expect(given).toEqual(before);
  });

  it.each(['', '\uFEFF'])(
    'keeps the line and the column of a later syntax error (byte order mark: %j)',
    (mark) => {
      const keys = 13_000;
      const lines = numbersTo(keys / 10).map((row) =>
        numbersTo(10)
          .map((at) => `"ü€😀 ${row} ${at}":"ä"`)
          .join(),
      );
      const wrong = `${mark}{${lines.join(',\n')},\n"größter":1 2}`;
      expect(() => parseItems(bytes(wrong), hide)).toThrow(
        expect.objectContaining({
          code: 'invalid_json',
          detail: `The body is not valid JSON (line ${lines.length + 1}, column 13).`,
        }),
      );
      const inLine = wrong.replaceAll('\n', '');
      const column = inLine.length - mark.length - 1;
      expect(() => parseItems(bytes(inLine), hide)).toThrow(
        expect.objectContaining({ detail: `The body is not valid JSON (line 1, column ${column}).` }),
      );
    },
  );
});
