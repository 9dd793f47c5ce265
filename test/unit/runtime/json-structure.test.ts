import { Batch, Failure, limits, Product, Supplier } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseItems, parseJson } from '../../../shared/runtime/src/json.ts';
import { checkStructure, nameHider } from '../../../shared/runtime/src/json-structure.ts';

const {
  bodyDepthMax,
  bodyStructureMax,
  otherBodyStructureMax,
  itemsPerPushMax,
  textCharactersMax,
  textsMax,
} = limits;

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const hide = nameHider(['suppliers', 'externalId', 'name']);

function refusalOf(
  text: string,
  parse = (body: Uint8Array): unknown => parseItems(body, hide),
): Failure | undefined {
  try {
    parse(bytes(text));
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** What a parser would have to make of a JSON text: counted from its value. */
function measure(value: unknown): { depth: number; structure: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, structure: 0 };
  const within = Object.values(value).map(measure);
  const colons = Array.isArray(value) ? 0 : within.length;
  return {
    depth: 1 + Math.max(0, ...within.map(({ depth }) => depth)),
    structure:
      1 + colons + Math.max(0, within.length - 1) + within.reduce((sum, { structure }) => sum + structure, 0),
  };
}

const objects = (keys: readonly string[][]): string =>
  `[${keys.map((names) => `{${names.map((name) => `"${name}":1`).join(',')}}`).join(',')}]`;
const events = (structure: number): string => `{"events":[${'"",'.repeat(structure - 3)}""]}`;
const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe('a body', () => {
  it('may be nested up to the limit, and no deeper', () => {
    expect(refusalOf(nested(bodyDepthMax))).toBeUndefined();
    expect(refusalOf(nested(bodyDepthMax + 1))).toMatchObject({
      code: 'invalid_request',
      detail: 'The body is nested too deeply: arrays and objects may be nested 8 levels deep.',
    });
    expect(refusalOf(`[${'{"a":[]},'.repeat(1_000)}${nested(bodyDepthMax - 1)}]`)).toBeUndefined();
  });

  it.each([
    ['commas', (count: number) => `[${'1,'.repeat(count - 1)}1]`],
    ['keys', (count: number) => `[{"a":${'1},{"a":'.repeat(Math.floor(count / 3) - 1)}1}]`],
    ['objects', (count: number) => `[${'{},'.repeat(count / 2 - 1)}{}]`],
  ])('may have brackets, commas and colons up to the limit, and no more: %s', (_kind, of) => {
    expect(refusalOf(of(bodyStructureMax))).toBeUndefined();
    expect(refusalOf(of(bodyStructureMax + 2))).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('more than 205000 brackets, commas and colons'),
    });
  });

  it('without items has a lower limit of brackets, commas and colons', () => {
    expect(refusalOf(events(otherBodyStructureMax), parseJson)).toBeUndefined();
    expect(refusalOf(events(otherBodyStructureMax + 1), parseJson)).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('more than 10000 brackets, commas and colons'),
    });
  });

  it('of 500 items of 200 fields is accepted, in any order of keys and with any absent', () => {
    const columns = numbersTo(200).map((at) => `column ${at}`);
    const keys = fc.oneof(
      fc.constant(columns),
      fc.shuffledSubarray(columns, { minLength: columns.length }),
      fc.subarray(columns),
      fc.shuffledSubarray(columns),
    );
    const drawn = fc.array(keys, { minLength: itemsPerPushMax, maxLength: itemsPerPushMax, size: 'max' });
    fc.assert(
      fc.property(drawn, (items) => {
        expect(refusalOf(`{"suppliers":${objects(items)}}`)).toBeUndefined();
      }),
      { numRuns: 5 },
    );
    expect(
      refusalOf(`{"suppliers":${objects(numbersTo(itemsPerPushMax).map(() => columns))}}`),
    ).toBeUndefined();
  });

  it.each(['[', '{"":', '{"a":1,', '[1,', '"a",'])(
    'of 5 MiB of %j is refused before it is parsed',
    (unit) => {
      const refused = refusalOf(unit.repeat((5 * 1024 * 1024) / unit.length));
      expect(refused?.code).toBe('invalid_request');
    },
  );

  it('may have any text in strings, which does not count towards its structure', () => {
    const text = String.raw`[{"\\":"[[[[[[[[[[,,::\"{{{{{{{{{{\\","a":"\\\""}]`;
    expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
    const long = JSON.stringify([',[{":'.repeat(500_000)]);
    expect(refusalOf(long)).toBeUndefined();
  });

  it('that is no JSON is left to the parser', () => {
    for (const text of ['"', '"\\', '[1', ']]]]]]]]]]]]', '{"a":"b', `]${nested(3)}`])
      expect(refusalOf(text)?.code).toBe('invalid_json');
  });

  it('is refused exactly where its value exceeds a limit', () => {
    const value = fc.jsonValue({ maxDepth: 11 });
    fc.assert(
      fc.property(value, (given) => {
        const isRefused = measure(given).depth > bodyDepthMax;
        expect(refusalOf(JSON.stringify(given)) !== undefined).toBe(isRefused);
        expect(refusalOf(JSON.stringify(given, undefined, '\t')) !== undefined).toBe(isRefused);
      }),
      { numRuns: 1_000 },
    );
  });

  // The bound is twice what an item can need, so that a body of large unknown fields passes as well.
  it.each(Object.entries({ Supplier, Product, Batch }))(
    'of 500 items with all fields of %s, and as many unknown ones, is within the limits',
    (_name, { properties }) => {
      const item = Object.fromEntries(
        Object.entries(properties).map(([name, schema]) => [
          name,
          'items' in schema ? Array.from({ length: textsMax }, () => 'a') : 'a',
        ]),
      );
      const unknown = {
        deep: { list: [{ of: { a: 'b' } }] },
        list: Array.from({ length: 90 }, () => ','.repeat(textCharactersMax)),
      };
      const body = JSON.stringify({
        items: Array.from({ length: itemsPerPushMax }, () => ({ ...item, ...unknown })),
      });
      expect(() => checkStructure(bytes(body), bodyStructureMax)).not.toThrow();
      expect(2 * measure(item).structure).toBeLessThanOrEqual(bodyStructureMax / itemsPerPushMax + 8);
    },
  );
});
