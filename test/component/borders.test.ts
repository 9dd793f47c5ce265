import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';

// The borders of the architecture are lint rules. Here each is crossed, in a folder that is laid out like this
// project and has its rules, and the linter must say so. It judges each import by itself, so that it is asked once for
// everything that the tests below want to know.

const root = resolve(import.meta.dirname, '../..');

interface Diagnostic {
  code: string;
  filename: string;
  message: string;
  help?: string;
  note?: string;
}

const mayNot = [
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
  ['services/gateway/src/service.ts', '@opentelemetry/api', "Only shared/runtime's tracing knows"],
  ['shared/runtime/src/resources.ts', '@opentelemetry/sdk-trace', "Only shared/runtime's tracing knows"],
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
] as const;

const may = [
  ['services/catalog/src/service.ts', '@integration-sync/sync'],
  ['services/catalog/src/service.ts', '@integration-sync/runtime/bus'],
  ['services/catalog/src/service.ts', './config.ts'],
  ['shared/runtime/src/bus/index.ts', '@nats-io/nats-core'],
  ['shared/runtime/src/store/index.ts', 'mongodb'],
  ['shared/runtime/src/tracing/index.ts', '@opentelemetry/api'],
  ['shared/contracts/src/index.ts', 'typebox'],
  ['dev/openapi.ts', '@integration-sync/gateway/openapi'],
] as const;

// An override of the linter's rules for one folder replaces a rule as a whole, so each folder is asked for each border.
const common = {
  nats: '@nats-io/nats-core',
  mongodb: 'mongodb',
  opentelemetry: '@opentelemetry/api',
  services: '@integration-sync/catalog',
  stack: '@integration-sync/dev/engines',
  doors: '../../../../services/catalog/src/service.ts',
};

const ofCommonBorders: [file: string, open: (keyof typeof common)[]][] = [
  ['shared/contracts/src/one.ts', []],
  ['shared/runtime/src/one.ts', []],
  ['shared/runtime/src/bus/one.ts', ['nats']],
  ['shared/runtime/src/store/one.ts', ['mongodb']],
  ['shared/runtime/src/tracing/one.ts', ['opentelemetry']],
  ['shared/sync/src/one.ts', []],
  ['services/catalog/src/one.ts', []],
  ['services/batches/src/one.ts', []],
  ['services/gateway/src/one.ts', []],
  ['services/webhooks/src/service.ts', []],
  ['services/webhooks/src/pipeline.ts', []],
  ['services/webhooks/src/streams/one.ts', []],
  ['services/webhooks/src/api/one.ts', []],
];

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

const ofRooms: [name: keyof typeof roomsOfWebhooks, open: string[]][] = [
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
];

/** What each room is asked for: every other room, as it is called from there. */
function othersOf(name: keyof typeof roomsOfWebhooks): { other: string; specifier: string }[] {
  const isRoom = roomsOfWebhooks[name].file.endsWith('one.ts');
  return Object.entries(roomsOfWebhooks)
    .filter(([other]) => other !== name)
    .map(([other, { specifier }]) => ({
      other,
      specifier: isRoom ? specifier : specifier.replace('../', './'),
    }));
}

const circles = ['services/catalog/src', 'shared/sync/src', 'dev/storm'];

const imports: [file: string, specifiers: readonly string[]][] = [
  ...[...mayNot, ...may].map(([file, specifier]): [string, string[]] => [file, [specifier]]),
  ...ofCommonBorders.map(([file]): [string, string[]] => [file, Object.values(common)]),
  ...ofRooms.map(([name]): [string, string[]] => [
    roomsOfWebhooks[name].file,
    othersOf(name).map(({ specifier }) => specifier),
  ]),
  ...circles.map((place): [string, string[]] => [`${place}/one.ts`, ['./other.ts']]),
];

let found: Diagnostic[];

beforeAll(async () => {
  await using folder = await temporaryFolder();
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder.path, file)), { recursive: true });
    await writeFile(join(folder.path, file), text);
  };
  await cp(join(root, 'oxlint.config.ts'), join(folder.path, 'oxlint.config.ts'));
  for (const [file, all] of Map.groupBy(imports, ([name]) => name)) {
    const specifiers = new Set(all.flatMap(([, some]) => some));
    const lines = [...specifiers].map((one, n) => `export { thing as thing${n} } from '${one}';\n`);
    await write(file, lines.join(''));
  }
  for (const place of circles) {
    const text = "import type { thing0 } from './one.ts';\nexport type thing = typeof thing0;\n";
    await write(`${place}/other.ts`, text);
  }
  const oxlint = join(root, 'node_modules', '.bin', 'oxlint');
  const { stdout } = await promisify(execFile)(oxlint, ['--format', 'json', '.'], {
    cwd: folder.path,
    maxBuffer: Infinity,
  }).catch((refused: { stdout: string }) => refused);
  found = (JSON.parse(stdout) as { diagnostics: Diagnostic[] }).diagnostics;
});

const refusalOf = (file: string, specifier: string): Diagnostic | undefined =>
  found.find(
    ({ code, filename, message }) =>
      code === 'eslint(no-restricted-imports)' &&
      filename === file &&
      message.startsWith(`'${specifier}' import is restricted`),
  );

it.each(mayNot)('%s may not import %s', (file, specifier, message) => {
  expect(refusalOf(file, specifier)?.help).toContain(message);
});

it.each(may)('%s may import %s', (file, specifier) => {
  expect(refusalOf(file, specifier)).toBeUndefined();
});

it.each(ofCommonBorders)('of the common borders, %s may cross %j and no other', (file, open) => {
  const refused = Object.entries(common).filter(([, one]) => refusalOf(file, one) !== undefined);
  expect(refused.map(([border]) => border)).toEqual(
    Object.keys(common).filter((border) => !open.some((one) => one === border)),
  );
});

it.each(ofRooms)('of the rooms of webhooks, %s may import %j and no other', (name, open) => {
  const others = othersOf(name);
  const refusals = others.map(({ specifier }) => refusalOf(roomsOfWebhooks[name].file, specifier));
  const refused = others.filter((_, n) => refusals[n] !== undefined);
  expect(refused.map(({ other }) => other)).toEqual(
    others.map(({ other }) => other).filter((other) => !open.includes(other)),
  );
  expect(refusals.some((refusal) => refusal?.help?.includes('of webhooks may import'))).toBe(true);
});

it.each(circles)('in %s no file imports a type of one that imports it', (place) => {
  const circle = found.find(
    ({ filename, code }) => filename === `${place}/one.ts` && code === 'import(no-cycle)',
  );
  expect(circle?.note).toContain(`${place}/other.ts`);
});
