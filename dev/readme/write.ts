// npm run readme writes the README's tables of routes and settings anew.
import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { fillTables } from './tables.ts';

const file = new URL('../../README.md', import.meta.url);

export async function readmeAsItShouldBe(): Promise<{ is: string; shouldBe: string }> {
  const is = await readFile(file, 'utf8');
  const shouldBe = await format(fillTables(is), { ...(await resolveConfig(file)), parser: 'markdown' });
  return { is, shouldBe };
}

if (import.meta.main) {
  await writeFile(file, (await readmeAsItShouldBe()).shouldBe);
  process.stdout.write('README.md is written.\n');
}
