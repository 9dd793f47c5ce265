// npm run openapi writes the descriptions of the interface and of its messages to docs/openapi.json and docs/asyncapi.json, as the
// gateway serves them.
import { writeFile } from 'node:fs/promises';
import { describeMessages } from '@integration-sync/gateway/asyncapi';
import { describeInterface } from '@integration-sync/gateway/openapi';
import { format, resolveConfig } from 'prettier';

const descriptions = { 'openapi.json': describeInterface(), 'asyncapi.json': describeMessages() };

for (const [name, description] of Object.entries(descriptions)) {
  const file = new URL(`../docs/${name}`, import.meta.url);
  const options = await resolveConfig(file);
  await writeFile(file, await format(JSON.stringify(description), { ...options, parser: 'json' }));
  process.stdout.write(`docs/${name} is written.\n`);
}
