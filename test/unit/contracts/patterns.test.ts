import * as contracts from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeInterface } from '../../../services/gateway/src/openapi/document.ts';
import { formats } from '../../../shared/contracts/src/fields.ts';
import { growthMax, growthOf } from '../../support/growth.ts';

// Rules on text take linear time, whatever the text is: callers choose it.

type Rule = (text: string) => boolean;

/** Every pattern in these values, however deep. */
function collectPatterns(from: unknown, found = new Set<string>(), seen = new Set<unknown>()): Set<string> {
  if (typeof from !== 'object' || from === null || seen.has(from)) return found;
  seen.add(from);
  for (const [name, value] of Object.entries(from)) {
    if (name === 'pattern' && typeof value === 'string') found.add(value);
    collectPatterns(value, found, seen);
  }
  return found;
}

const patterns = [...collectPatterns([{ ...contracts }, describeInterface()])];
/** As Ajv compiles it. */
const ruleOf = (pattern: string): Rule => {
  const expression = new RegExp(pattern, 'u');
  return (text) => expression.test(text);
};

const units = ['a', ' ', '\u00a0', '\t', '1', '.', '-', '@', 'a@', 'a.', '1.', '2026-01-01T', ':00'];
const ends = ['', '\ud800', '\u0000', '\n', '@', '!', ' '];

/** A text for which the rule takes more than linear time. */
function findSlowText(rule: Rule): string | undefined {
  for (const unit of units) {
    for (const end of ends) {
      if (growthOf(rule, unit, end) > growthMax) return JSON.stringify(`${unit}…${end}`);
    }
  }
  return undefined;
}

const quadratic = String.raw`^[^\u0000\ud800-\udfff]*[^\s\u0000\ud800-\udfff][^\u0000\ud800-\udfff]*$`;

describe('every pattern and format of the contracts takes linear time:', () => {
  it('the check reads at least four patterns and five formats', () => {
    expect(patterns.length).toBeGreaterThanOrEqual(4);
    expect(Object.keys(formats).length).toBeGreaterThanOrEqual(5);
  });

  it.each(patterns)('the pattern %s', (pattern) => {
    expect(findSlowText(ruleOf(pattern))).toBeUndefined();
  });

  it.each(Object.entries(formats))('the format %s', (_name, isRight) => {
    expect(findSlowText(isRight)).toBeUndefined();
  });

  it('the check finds a pattern that takes quadratic time', () => {
    expect(growthOf(ruleOf(quadratic), 'a', '\ud800', 1)).toBeGreaterThan(growthMax);
  });
});

describe('a text that must not be blank', () => {
  const excluded = {
    controls: String.raw`\u0000-\u001f\u007f-\u009f\ud800-\udfff`,
    NUL: String.raw`\u0000\ud800-\udfff`,
  };
  const text = fc.oneof(
    fc.string({
      unit: fc.constantFrom(
        ...Array.from(' \t\n\u000b\f\r\u0000\u001f\u007f\u0085\u00a0\u1680\u2028\u3000\ufeffaä1'),
        '\ud800',
        '😀',
      ),
      maxLength: 12,
    }),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );

  it.each(Object.entries(excluded))('without %s has at least one visible character', (_name, characters) => {
    const pattern = patterns.find(
      (one) => one.startsWith('^[^\\S') && one.endsWith(`[^${characters}]*$`) && !one.includes('|'),
    );
    if (pattern === undefined) throw new Error('there is no such pattern');
    const isRight = ruleOf(pattern);
    const isAllowed = ruleOf(`^[^${characters}]*$`);
    const isVisible = ruleOf(`[^\\s${characters}]`);
    fc.assert(
      fc.property(text, (given) => {
        expect(isRight(given)).toBe(isAllowed(given) && isVisible(given));
      }),
      { numRuns: 20_000 },
    );
  });
});
