// npm run asyncapi writes the description of the messages to docs/asyncapi.json, as /asyncapi.json serves it.
import { mkdir, writeFile } from 'node:fs/promises';
import { describeMessages } from '@integration-sync/gateway/asyncapi';
import { format, resolveConfig } from 'prettier';

const file = new URL('../docs/asyncapi.json', import.meta.url);

await mkdir(new URL('.', file), { recursive: true });
const options = await resolveConfig(file);
await writeFile(file, await format(JSON.stringify(describeMessages()), { ...options, parser: 'json' }));
process.stdout.write('docs/asyncapi.json is written.\n');
