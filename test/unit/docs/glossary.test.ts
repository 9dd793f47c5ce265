// The private words of this project, which a newcomer has to learn.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repository } from '../../support/deploy-files.ts';

const architecture = await readFile(join(repository, 'docs/architecture.md'), 'utf8');
const [, glossary = ''] = /^## Glossary\n(.*?)^## /ms.exec(architecture) ?? [];
const words = Array.from(glossary.matchAll(/^- \*\*(.+?)\*\*: /gm), ([, word]) => word);

it('the glossary has at most twenty words, each once, in alphabetical order', () => {
  expect(words.length).toBeGreaterThan(10);
  expect(words.length).toBeLessThanOrEqual(20);
  expect(words).toEqual([...new Set(words)].toSorted((one, other) => (one ?? '').localeCompare(other ?? '')));
});
