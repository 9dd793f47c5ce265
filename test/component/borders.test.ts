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
  await cp(join(root, 'oxlint.config.ts'), join(folder, 'oxlint.config.ts'));
});
afterAll(() => rm(folder, { recursive: true }));

async function lint(file: string, ...specifiers: string[]): Promise<string> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(
    path,
    specifiers.map((one, n) => `export { thing as thing${n} } from '${one}';\n`).join(''),
  );
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
  [
    'shared/runtime/src/bus/index.ts',
    '../../../../services/webhooks/src/service.ts',
    'entered by their doors',
  ],
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

// An override of the linter's rules for one folder replaces a rule as a whole, so each folder is asked for each border.
const common = {
  nats: '@nats-io/nats-core',
  mongodb: 'mongodb',
  services: '@integration-sync/catalog',
  stack: '@integration-sync/dev/engines',
  doors: '../../../../services/catalog/src/service.ts',
};

it.each<[string, (keyof typeof common)[]]>([
  ['shared/contracts/src/one.ts', []],
  ['shared/runtime/src/one.ts', []],
  ['shared/runtime/src/bus/one.ts', ['nats']],
  ['shared/runtime/src/store/one.ts', ['mongodb']],
  ['shared/sync/src/one.ts', []],
  ['services/catalog/src/one.ts', []],
  ['services/batches/src/one.ts', []],
  ['services/gateway/src/one.ts', []],
  ['services/webhooks/src/service.ts', []],
  ['services/webhooks/src/pipeline.ts', []],
  ['services/webhooks/src/streams/one.ts', []],
  ['services/webhooks/src/api/one.ts', []],
])('of the common borders, %s may cross %j and no other', async (file, open) => {
  const report = await lint(file, ...Object.values(common));
  const refused = Object.entries(common).filter(([, one]) =>
    report.includes(`'${one}' import is restricted`),
  );
  expect(refused.map(([border]) => border)).toEqual(
    Object.keys(common).filter((border) => !open.some((one) => one === border)),
  );
});

// So is each room of webhooks, for each of its other rooms.
const room = (name: string) => ({
  file: `services/webhooks/src/${name}/one.ts`,
  specifier: `../${name}/two.ts`,
});
const oneFile = (name: string) => ({
  file: `services/webhooks/src/${name}.ts`,
  specifier: `../${name}.ts`,
});
const roomsOfWebhooks = {
  tools: room('tools'),
  secrets: room('secrets'),
  streams: room('streams'),
  endpoints: room('endpoints'),
  sending: room('sending'),
  metrics: oneFile('metrics'),
  fanout: room('fanout'),
  delivering: room('delivering'),
  retrying: room('retrying'),
  intake: room('intake'),
  api: room('api'),
  config: oneFile('config'),
  pipeline: oneFile('pipeline'),
  service: oneFile('service'),
  main: oneFile('main'),
};

const belowTheApi = [
  'tools',
  'secrets',
  'streams',
  'endpoints',
  'sending',
  'metrics',
  'fanout',
  'delivering',
];

it.each<[keyof typeof roomsOfWebhooks, string[]]>([
  ['tools', []],
  ['secrets', []],
  ['streams', ['tools']],
  ['endpoints', ['tools', 'secrets']],
  ['sending', ['secrets', 'endpoints']],
  ['metrics', ['sending']],
  ['fanout', ['tools', 'streams', 'endpoints', 'metrics']],
  ['delivering', ['tools', 'streams', 'endpoints', 'sending', 'metrics']],
  ['retrying', ['tools', 'streams', 'endpoints', 'metrics', 'delivering']],
  ['intake', ['tools', 'streams', 'endpoints', 'metrics', 'delivering', 'retrying']],
  ['api', [...belowTheApi, 'retrying']],
  ['config', ['secrets', 'sending']],
  ['pipeline', [...belowTheApi, 'retrying', 'intake']],
])('of the rooms of webhooks, %s may import %j and no other', async (name, open) => {
  const { file } = roomsOfWebhooks[name];
  const others = Object.entries(roomsOfWebhooks).filter(([other]) => other !== name);
  const specifiers = others.map(([, { specifier }]) =>
    file.endsWith('one.ts') ? specifier : specifier.replace('../', './'),
  );
  const report = await lint(file, ...specifiers);
  const refused = others.filter((_, n) => report.includes(`'${specifiers[n]}' import is restricted`));
  expect(refused.map(([other]) => other)).toEqual(
    others.map(([other]) => other).filter((other) => !open.includes(other)),
  );
  expect(report).toContain('of webhooks may import');
});

it.each(['services/catalog/src', 'shared/sync/src', 'dev/storm'])(
  'in %s no file imports a type of one that imports it',
  async (place) => {
    await mkdir(join(folder, place), { recursive: true });
    const other = join(folder, place, 'other.ts');
    await writeFile(other, "import type { thing0 } from './one.ts';\nexport type thing = typeof thing0;\n");
    expect(await lint(`${place}/one.ts`, './other.ts')).toContain('Dependency cycle detected');
  },
);
