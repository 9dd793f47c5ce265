// npm run generate writes everything that is made of the code: the tables of docs, OpenAPI, AsyncAPI, JSON Schemas,
// what the chart renders, and the types of client/ and python/. Each writer is a command of its own as well.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const writers = [
  'docs/write.ts',
  'openapi.ts',
  'schemas.ts',
  'chart.ts',
  'client-types.ts',
  'python-types.ts',
];

for (const writer of writers) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, writer)], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
