// npm run schemas writes the JSON Schemas of the events to docs/events/, one file per kind, for services that are
// not written in TypeScript. They are made from the same source that the service itself uses.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { eventBodyOf, eventData, eventKinds } from '@integration-sync/contracts';
import { formatted } from './formatted.ts';

export const folder = new URL('../docs/events/', import.meta.url);

/** The expected contents of the files, by file name. */
export async function schemaFiles(): Promise<Map<string, string>> {
  const files = eventKinds.map(async (kind): Promise<[string, string]> => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `urn:integration-sync:event:${kind}`,
      ...eventBodyOf(kind, eventData[kind]),
    };
    return [`${kind}.json`, await formatted(`${kind}.json`, JSON.stringify(schema))];
  });
  return new Map(await Promise.all(files));
}

if (import.meta.main) {
  const files = await schemaFiles();
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(folder)) if (!files.has(name)) await rm(new URL(name, folder));
  for (const [name, text] of files) await writeFile(new URL(name, folder), text);
  process.stdout.write(`docs/events/ holds ${files.size} schemas.\n`);
}
