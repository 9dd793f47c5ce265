import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { houses } from '../../oxlint.config.ts';
import { temporaryFolder } from '../support/folder.ts';

// The borders of the architecture are lint rules. These tests cross each one in a folder that has the layout
// and the rules of this project, and expect the linter to say so. The linter judges each import by itself, so
// one run of it answers all tests below.

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
  ['services/ops/src/run.ts', '@integration-sync/webhooks', 'by its door for them'],
  ['services/ops/src/run.ts', '@integration-sync/catalog/config', 'by its door for them'],
  ['services/ops/src/run.ts', '@integration-sync/sync', 'Only catalog and batches push records'],
  ['services/webhooks/src/service.ts', '@integration-sync/ops', 'No service imports another'],
  ['client/src/one.ts', 'node:fs', 'runs in browsers as well'],
  ['client/src/one.ts', '@integration-sync/contracts', 'is a package alone'],
  ['client/src/one.ts', '../../../shared/contracts/src/index.ts', 'entered by their doors'],
  ['console/src/one.ts', '@integration-sync/runtime/bus', 'a customer of the public interface'],
  ['console/src/one.ts', '@integration-sync/gateway', 'a customer of the public interface'],
  ['console/src/one.ts', 'node:fs', 'a customer of the public interface'],
  ['console/src/one.ts', 'integration-sync/core', 'only console/src/load imports it'],
  ['console/src/load/one.ts', '@integration-sync/contracts', 'has the loader’s core'],
  ['loader/src/core/one.ts', 'node:fs', 'runs in pages as well'],
  ['loader/src/core/reading/one.ts', 'iconv-lite', 'runs in pages as well'],
  ['loader/src/core/reading/one.ts', '../../platform/node.ts', 'runs in pages as well'],
  ['loader/src/core/one.ts', '@integration-sync/contracts', 'knows of this service what callers know'],
  ['loader/src/platform/browser.ts', 'node:buffer', 'runs in pages as well'],
  ['loader/src/one.ts', '@integration-sync/contracts', 'knows of this service what callers know'],
  ['loader/src/one.ts', '@integration-sync/runtime/bus', 'knows of this service what callers know'],
  ['loader/src/one.ts', '../../../client/src/index.ts', 'entered by their doors'],
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
  ['client/src/one.ts', './two.ts'],
  ['loader/src/core/one.ts', '@integration-sync/client'],
  ['loader/src/core/one.ts', '#platform'],
  ['loader/src/core/reading/one.ts', '../platform.ts'],
  ['loader/src/core/reading/one.ts', '../sending/two.ts'],
  ['loader/src/one.ts', '@integration-sync/client'],
  ['loader/src/one.ts', 'csv-parse'],
  ['console/src/one.tsx', 'preact/hooks'],
  ['console/src/one.tsx', '@integration-sync/contracts'],
  ['services/ops/src/run.ts', '@integration-sync/catalog/operating'],
  ['services/ops/src/run.ts', '@integration-sync/webhooks/operating'],
  ['services/ops/src/run.ts', '@integration-sync/webhooks/config'],
] as const;

// A linter override for one folder replaces a rule as a whole, so the tests try each border in each folder.
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
  ['shared/sync/src/pushing/one.ts', []],
  ['services/catalog/src/one.ts', []],
  ['services/batches/src/one.ts', []],
  ['services/gateway/src/one.ts', []],
  ['services/ops/src/one.ts', []],
  ['services/webhooks/src/service.ts', []],
  ['services/webhooks/src/pipeline.ts', []],
  ['services/webhooks/src/streams.ts', []],
  ['services/webhooks/src/api/one.ts', []],
];

// So is each room of each house, for each of its other rooms. A name that ends in .ts or .tsx is a single file.
const isFile = (room: string): boolean => /\.tsx?$/.test(room);

interface RoomOfHouse {
  house: string;
  room: string;
  open: readonly string[];
  file: string;
  /** Every other room, as an import from this one calls it. */
  others: readonly { other: string; specifier: string }[];
}

const ofRooms = houses.flatMap(({ folder, name, rooms, top }) =>
  Object.entries(rooms).map(([room, open]): RoomOfHouse => {
    const others = [...Object.keys(rooms), ...top].filter((other) => other !== room);
    const up = isFile(room) ? './' : '../';
    return {
      house: name,
      room,
      open,
      file: `${folder}/${isFile(room) ? room : `${room}/one.ts`}`,
      others: others.map((other) => ({ other, specifier: up + (isFile(other) ? other : `${other}/two.ts`) })),
    };
  }),
);

const circles = ['services/catalog/src', 'shared/sync/src', 'dev/storm'];

const imports: [file: string, specifiers: readonly string[]][] = [
  ...[...mayNot, ...may].map(([file, specifier]): [string, string[]] => [file, [specifier]]),
  ...ofCommonBorders.map(([file]): [string, string[]] => [file, Object.values(common)]),
  ...ofRooms.map(({ file, others }): [string, string[]] => [file, others.map(({ specifier }) => specifier)]),
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

it('each linter message that refuses an import names an existing import that is allowed', async () => {
  const refusals = found.filter(({ code }) => code === 'eslint(no-restricted-imports)');
  const helps = new Set(refusals.map(({ help = '' }) => help));
  expect(helps.size).toBeGreaterThan(mayNot.length / 2);
  const lost: string[] = [];
  for (const help of helps) {
    const named = [...help.matchAll(/@integration-sync\/(\w+)(\/\w+)?/g)];
    if (named.length === 0 && !betweenRooms.test(help)) lost.push(help);
    for (const [, room = '', door = ''] of named)
      if (!(await doorsOf(room)).includes(`.${door}`)) lost.push(help);
  }
  expect(lost).toEqual([]);
});

const betweenRooms =
  / of \w+ may import .+: move what both need there, or have [\w-]+\.tsx? hand it over|ask `#platform`/;

async function doorsOf(room: string): Promise<string[]> {
  const manifest = join(root, 'node_modules/@integration-sync', room, 'package.json');
  const { exports }: { exports: object } = JSON.parse(await readFile(manifest, 'utf8'));
  return Object.keys(exports);
}

it.each(may)('%s may import %s', (file, specifier) => {
  expect(refusalOf(file, specifier)).toBeUndefined();
});

it.each(ofCommonBorders)(
  'of the packages and folders with restricted use, %s may import only %j',
  (file, open) => {
    const refused = Object.entries(common).filter(([, one]) => refusalOf(file, one) !== undefined);
    expect(refused.map(([border]) => border)).toEqual(
      Object.keys(common).filter((border) => !open.some((one) => one === border)),
    );
  },
);

it.each(ofRooms)('in $house, the folder $room may import only $open of the other folders', (one) => {
  const refusals = one.others.map(({ specifier }) => refusalOf(one.file, specifier));
  const refused = one.others.filter((_, n) => refusals[n] !== undefined);
  expect(refused.map(({ other }) => other)).toEqual(
    one.others.map(({ other }) => other).filter((other) => !one.open.includes(other)),
  );
  expect(refusals.some((refusal) => refusal?.help?.includes(`of ${one.house} may import`))).toBe(true);
});

it.each(circles)('the linter refuses two files of %s that import types of each other', (place) => {
  const circle = found.find(
    ({ filename, code }) => filename === `${place}/one.ts` && code === 'import(no-cycle)',
  );
  expect(circle?.note).toContain(`${place}/other.ts`);
});
