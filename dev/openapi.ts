// npm run openapi writes the description of the interface to docs/openapi.json, as /openapi.json serves it.
import { mkdir, writeFile } from 'node:fs/promises';
import { describeInterface } from '@integration-sync/gateway/openapi';
import { format, resolveConfig } from 'prettier';

const file = new URL('../docs/openapi.json', import.meta.url);

await mkdir(new URL('.', file), { recursive: true });
const options = await resolveConfig(file);
await writeFile(file, await format(JSON.stringify(describeInterface()), { ...options, parser: 'json' }));
process.stdout.write('docs/openapi.json is written.\n');
