import { readFileSync, globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';
import { growthMax, growthOf, isQuick, type Rule } from '../support/growth.ts';

// Every regular expression of the sources takes linear time: its text may be a caller's, a receiver's or a file's.

const root = resolve(import.meta.dirname, '../..');
const files = globSync('{shared,services}/*/src/**/*.ts', { cwd: root }).concat(
  globSync('{client,loader,console}/src/**/*.{ts,tsx}', { cwd: root }),
);

interface Expression {
  pattern: string;
  flags: string;
}

/** The literal expressions of a parsed source, however deep. */
function expressionsIn(node: unknown, found: Expression[] = []): Expression[] {
  if (typeof node !== 'object' || node === null) return found;
  if ('regex' in node) found.push(node.regex as Expression);
  else for (const part of Object.values(node)) expressionsIn(part, found);
  return found;
}

/** Finds all matches, so that each place of the text is tried. */
function ruleOf({ pattern, flags }: Expression): Rule {
  const expression = new RegExp(pattern, `${flags.replaceAll(/[gy]/g, '')}g`);
  return (text) => text.replaceAll(expression, '');
}

const everyUnit = ['a', 'A', ' ', '1', '.', '-', '_', '\n'];
const ends = ['', '!', 'Z', '\n', ' '];

/** Texts of the characters that the expression names, alone and beside one that it may take anywhere. */
function unitsFor({ pattern }: Expression): string[] {
  const own = [...new Set(pattern.replaceAll(/\\(?=\W)/g, ''))];
  return [
    ...new Set([
      ...everyUnit,
      ...own,
      ...own.flatMap((one) => [`${one}a`, `${one} `, `\\${one}`, `a="${one}`]),
    ]),
  ];
}

function findSlowText(expression: Expression): string | undefined {
  const rule = ruleOf(expression);
  for (const unit of unitsFor(expression)) {
    for (const end of ends) {
      if (!isQuick(rule, unit, end) && growthOf(rule, unit, end, 1) > growthMax)
        return JSON.stringify(`${unit}…${end}`);
    }
  }
  return undefined;
}

const expressions = new Map(
  files.flatMap((file) => {
    const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'));
    return expressionsIn(program).map((expression) => [expression.pattern, expression] as const);
  }),
);

describe('every regular expression takes linear time:', () => {
  it('the check reads more than a hundred in services, client, loader and console', () => {
    expect(expressions.size).toBeGreaterThan(100);
  });

  it.each([...expressions.values()])('/$pattern/$flags', (expression) => {
    expect(findSlowText(expression)).toBeUndefined();
  });

  it.each([
    [String.raw`(?:[\w.-]+:)?([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`],
    [String.raw`"[^"]*"|[\\_*].|\[[^\]]*\]`],
    [String.raw`T[^Z+-]*$`],
    [String.raw`\.+$`],
    [String.raw`<([^>]+)>;`],
    [String.raw`"(?:[^"\\]|\\.)*"`],
  ])('an expression that takes longer is found: %s', (pattern) => {
    expect(findSlowText({ pattern, flags: '' })).toBeDefined();
  });
});
