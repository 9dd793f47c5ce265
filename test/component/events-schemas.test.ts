import { readdir, readFile } from 'node:fs/promises';
import { folder, schemaFiles } from '@integration-sync/dev/schemas';
import { expect, it } from 'vitest';

it('docs/events has a current JSON Schema of every kind of event (npm run schemas writes them)', async () => {
  const shouldBe = await schemaFiles();
  const names = await readdir(folder);
  const is = await Promise.all(
    names.map(async (name) => [name, await readFile(new URL(name, folder), 'utf8')] as const),
  );
  expect(new Map(is)).toEqual(shouldBe);
});
