import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientTypes } from '@integration-sync/dev/client-types';
import { pythonTypes } from '@integration-sync/dev/python-types';
import { expect, it } from 'vitest';

const client = join(import.meta.dirname, '../../../client');

it('client/ has the types of the schemas (npm run generate writes them)', async () => {
  expect(await readFile(join(client, 'src/types.ts'), 'utf8')).toBe(await clientTypes());
});

it('python/ has the types of the schemas (npm run generate writes them)', async () => {
  const types = join(import.meta.dirname, '../../../python/src/integration_sync/types.py');
  expect(await readFile(types, 'utf8')).toBe(pythonTypes());
});

it('client/ has no dependencies', async () => {
  const manifest = JSON.parse(await readFile(join(client, 'package.json'), 'utf8'));
  expect(Object.keys(manifest)).not.toContain('dependencies');
});
