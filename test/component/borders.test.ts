import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

// The borders of the architecture are lint rules. Here each is crossed, in a folder that is laid out like this
// project and has its rules, and the linter must say so.

const root = resolve(import.meta.dirname, '../..');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'integration-sync-borders-'));
  await cp(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
});
afterAll(() => rm(folder, { recursive: true }));

async function lint(file: string, specifier: string): Promise<string> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `import { thing } from '${specifier}';\n\nexport const other = thing;\n`);
  const oxlint = join(root, 'node_modules', '.bin', 'oxlint');
  const run = promisify(execFile)(oxlint, [file], { cwd: folder });
  return run.then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
}

it.each([
  ['services/catalog/src/service.ts', '@integration-sync/gateway', 'No service imports another'],
  ['services/gateway/src/service.ts', '@integration-sync/catalog/config', 'No service imports another'],
  ['shared/sync/src/index.ts', '@integration-sync/batches', 'No service imports another'],
  ['services/catalog/src/service.ts', '../../gateway/src/service.ts', 'entered by their doors'],
  ['services/catalog/src/service.ts', '../../../shared/runtime/src/config.ts', 'entered by their doors'],
  ['services/webhooks/src/service.ts', '@nats-io/jetstream', "Only shared/runtime's bus speaks to NATS"],
  ['shared/runtime/src/metrics.ts', '@nats-io/nats-core', "Only shared/runtime's bus speaks to NATS"],
  ['shared/runtime/src/store/index.ts', '@nats-io/nats-core', "Only shared/runtime's bus speaks to NATS"],
  ['services/batches/src/service.ts', 'mongodb', "Only shared/runtime's store opens MongoDB"],
  ['shared/sync/src/index.ts', 'mongodb', "Only shared/runtime's store opens MongoDB"],
  ['shared/runtime/src/bus/index.ts', 'mongodb', "Only shared/runtime's store opens MongoDB"],
  ['shared/contracts/src/index.ts', 'node:fs', 'Contracts are pure'],
  ['shared/contracts/src/index.ts', '@integration-sync/runtime/bus', 'Contracts are pure'],
  ['shared/sync/src/index.ts', '../../runtime/src/config/index.ts', 'entered by their doors'],
  ['services/gateway/src/service.ts', '@integration-sync/sync', 'Only catalog and batches push records'],
  ['services/webhooks/src/service.ts', '@integration-sync/sync', 'Only catalog and batches push records'],
  ['services/catalog/src/service.ts', '@integration-sync/dev/engines', 'does not import the local stack'],
  ['dev/start.ts', '@integration-sync/gateway', 'No service imports another'],
])('%s may not import %s', async (file, specifier, message) => {
  expect(await lint(file, specifier)).toContain(message);
});

it.each([
  ['services/catalog/src/service.ts', '@integration-sync/sync'],
  ['services/catalog/src/service.ts', '@integration-sync/runtime/bus'],
  ['services/catalog/src/service.ts', './config.ts'],
  ['shared/runtime/src/bus/index.ts', '@nats-io/nats-core'],
  ['shared/runtime/src/store/index.ts', 'mongodb'],
  ['shared/contracts/src/index.ts', 'typebox'],
  ['dev/openapi.ts', '@integration-sync/gateway/openapi'],
])('%s may import %s', async (file, specifier) => {
  expect(await lint(file, specifier)).not.toContain('no-restricted-imports');
});
