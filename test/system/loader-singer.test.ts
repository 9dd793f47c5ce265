import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/folder.ts';
import { openLoader } from '../support/loader-command.ts';
import { openClient, startTestStack } from '../support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const line = (message: object): string => `${JSON.stringify(message)}\n`;

it('is a Singer target: a pause sends what waits, and a version archives what it lacks', async () => {
  await using folder = await temporaryFolder();
  const acme = openClient(stack);
  await acme.post('/suppliers', {
    suppliers: Array.from({ length: 20 }, (_, index) => ({ externalId: `${index}`, name: 'old' })),
  });
  await eventually(
    async () => (await acme.get('/suppliers?limit=1')).headers.get('x-next-since') ?? '',
    (next) => Date.parse(next) > Date.now() - 2_000,
    60_000,
  );
  const loader = openLoader({ stack, integration: acme.integration, folder: folder.path });
  await loader.write(
    'settings.json',
    JSON.stringify({
      streams: { vendors: { kind: 'suppliers', columns: { lifnr: 'externalId', name1: 'name' } } },
    }),
  );
  const { child, ended } = loader.start('singer', '--config', 'settings.json');
  let out = '';
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const record = (lifnr: number) =>
    line({ type: 'RECORD', stream: 'vendors', version: 7, record: { lifnr, name1: 'new' } });
  child.stdin?.write(
    line({ type: 'SCHEMA', stream: 'vendors', schema: { properties: { lifnr: {}, name1: {}, ort01: {} } } }) +
      line({ type: 'ACTIVATE_VERSION', stream: 'vendors', version: 7 }) +
      Array.from({ length: 18 }, (_, index) => record(index)).join('') +
      line({ type: 'STATE', value: { seen: 18 } }),
  );
  // The tap is silent now, and its STATE comes out nevertheless.
  await eventually(
    () => out,
    (text) => text === '{"seen":18}\n',
  );
  child.stdin?.end(
    line({ type: 'ACTIVATE_VERSION', stream: 'vendors', version: 7 }) +
      line({ type: 'STATE', value: { seen: 'all' } }),
  );
  expect(await ended).toMatchObject({ code: 0, out: '{"seen":18}\n{"seen":"all"}\n' });
  const { body } = await acme.get('/suppliers?limit=100');
  const archived = (
    body as unknown as { entities: { externalId: string; syncStatus: string }[] }
  ).entities.filter(({ syncStatus }) => syncStatus === 'ARCHIVED');
  expect(archived.map(({ externalId }) => externalId)).toEqual(['18', '19']);
});
