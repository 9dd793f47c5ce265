// What a list of the contracts or of settings names is also used: each subject has a handler, each setting is read.
import { subjects } from '@integration-sync/contracts';
import { configs } from '@integration-sync/dev/configs';
import { expect, it } from 'vitest';
import { syntaxTrees } from '../support/syntax-trees.ts';

const handled = new Set<string>();
const read = new Set<string>();

const nameOf = (node: unknown): string =>
  typeof node === 'object' && node !== null && 'name' in node && typeof node.name === 'string'
    ? node.name
    : '';

/** Notes `{ [subjects.x]: … }` as handled, `config.X` and `const { X } = …` as read. */
function look(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node) {
    if (node.type === 'MemberExpression' && 'property' in node) read.add(nameOf(node.property));
    const isPattern = node.type === 'ObjectPattern';
    if ((isPattern || node.type === 'ObjectExpression') && 'properties' in node)
      for (const { key, computed } of node.properties as { key?: unknown; computed?: boolean }[]) {
        if (isPattern) read.add(nameOf(key));
        else if (computed === true && typeof key === 'object' && key !== null && 'object' in key)
          if (nameOf(key.object) === 'subjects' && 'property' in key) handled.add(nameOf(key.property));
      }
  }
  for (const part of Object.values(node)) look(part);
}
syntaxTrees.forEach(look);

it('each subject of the contracts has a handler', () => {
  expect(Object.keys(subjects).filter((name) => !handled.has(name))).toEqual([]);
});

it('each setting of a service is read', () => {
  const names = new Set(Object.values(configs).flatMap(({ properties }) => Object.keys(properties)));
  expect(names.size).toBeGreaterThan(40);
  expect([...names].filter((name) => !read.has(name))).toEqual([]);
});
