// npm run openapi writes the descriptions of the interface and of its messages to docs/openapi.json and docs/asyncapi.json, as the
// gateway serves them.
import { writeFile } from 'node:fs/promises';
import { describeMessages } from '@integration-sync/gateway/asyncapi';
import { describeInterface } from '@integration-sync/gateway/openapi';
import { formatted } from './formatted.ts';

const descriptions = { 'openapi.json': describeInterface(), 'asyncapi.json': describeMessages() };

for (const [name, description] of Object.entries(descriptions)) {
  const file = new URL(`../docs/${name}`, import.meta.url);
  await writeFile(file, await formatted(name, JSON.stringify(description)));
  process.stdout.write(`docs/${name} is written.\n`);
}
