// npm run docs writes the tables of docs/api.md and docs/settings.md anew.
import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { fillTables, tablesOf, type Document } from './tables.ts';

const documents: readonly Document[] = ['api.md', 'settings.md'];

export interface WrittenDocument {
  file: URL;
  is: string;
  shouldBe: string;
}

export const documentsAsTheyShouldBe = (): Promise<WrittenDocument[]> =>
  Promise.all(
    documents.map(async (name) => {
      const file = new URL(`../../docs/${name}`, import.meta.url);
      const is = await readFile(file, 'utf8');
      const filled = fillTables(name, is, tablesOf[name]());
      const shouldBe = await format(filled, { ...(await resolveConfig(file)), parser: 'markdown' });
      return { file, is, shouldBe };
    }),
  );

if (import.meta.main) {
  for (const { file, shouldBe } of await documentsAsTheyShouldBe()) await writeFile(file, shouldBe);
  process.stdout.write(
    `The tables of ${documents.map((name) => `docs/${name}`).join(' and ')} are written.\n`,
  );
}
