// npm run chart writes what deploy/helm says of itself: the names of settings in its schema, its README, and what it renders
// with the values of test/chart. Tests check these written texts, so that they need no helm. The first line of each rendered
// file says from which chart and values the file was made.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { listSettings } from '@integration-sync/runtime/config';
import { isMap, isScalar, parse, parseDocument, type Node, type Pair, type YAMLMap } from 'yaml';
import { formatted } from './formatted.ts';
import { configs } from './stack/configs.ts';

const root = resolve(import.meta.dirname, '..');

/** The values files of each rendering; a later file overrides an earlier one. */
const valuesOf = {
  defaults: [],
  production: ['production.yaml'],
  upgraded: ['production.yaml', 'upgrade.yaml'],
  exposed: ['exposed.yaml'],
  monitored: ['monitored.yaml'],
  extended: ['extended.yaml'],
  operated: ['operated.yaml'],
} as const satisfies Record<string, readonly string[]>;
export type Rendering = keyof typeof valuesOf;
const isRendering = (name: string): name is Rendering => Object.hasOwn(valuesOf, name);
export const renderings = Object.keys(valuesOf).filter(isRendering);

export const renderedFile = (name: Rendering): string => join(root, 'test/chart/rendered', `${name}.yaml`);

/** The first line of a rendered file: it has a hash of the chart and the values, by which a test finds an outdated file. */
export async function firstLineOf(name: Rendering): Promise<string> {
  const files = await Array.fromAsync(glob('deploy/helm/**/*.{yaml,tpl,txt,json,js}', { cwd: root }));
  const hash = createHash('sha256');
  for (const file of [...files.toSorted(), ...valuesOf[name].map(valuesFile)]) {
    hash.update(`${file}\n`).update(await readFile(join(root, file)));
  }
  return `# npm run chart renders this. Chart and values: ${hash.digest('hex').slice(0, 16)}`;
}

/** Undefined where this machine has no helm (`HELM` names one that is not on PATH). */
export async function render(name: Rendering): Promise<string | undefined> {
  const rendered = await helm(['template', 'acme', 'deploy/helm', ...place], valuesOf[name].map(valuesFile));
  return rendered === undefined ? undefined : `${await firstLineOf(name)}\n${rendered}`;
}

/**
 * What helm says after an installation. It does not render NOTES.txt without a cluster, so this is the text of an object in a
 * copy of the chart. Undefined where this machine has no helm.
 */
export async function renderNotes(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-sync-chart-'));
  try {
    await cp(join(root, 'deploy/helm'), folder, { recursive: true, dereference: true });
    const templates = join(folder, 'templates');
    const notes = await readFile(join(templates, 'NOTES.txt'), 'utf8');
    const helpers = await readFile(join(templates, '_helpers.tpl'), 'utf8');
    await rm(templates, { recursive: true });
    await mkdir(templates);
    await writeFile(
      join(templates, '_helpers.tpl'),
      `${helpers}{{- define "notes" -}}\n${notes}{{- end -}}\n`,
    );
    await writeFile(join(templates, 'notes.yaml'), '{{ dict "notes" (include "notes" .) | toYaml }}\n');
    const rendered = await helm(['template', 'acme', folder, ...place], []);
    if (rendered === undefined) return undefined;
    const { notes: words }: { notes: string } = parse(rendered);
    return words;
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const notesFile = join(root, 'test/chart/rendered/notes.txt');

// The oldest Kubernetes that the chart takes, so that every helm renders the same.
const place = ['--namespace', 'sync', '--kube-version', '1.27.0'];

async function helm(args: readonly string[], files: readonly string[]): Promise<string | undefined> {
  const values = files.flatMap((file) => ['--values', file]);
  try {
    const run = promisify(execFile);
    return (await run(process.env['HELM'] || 'helm', [...args, ...values], { cwd: root })).stdout;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const valuesFile = (file: string): string => join('test/chart/values', file);

export const schemaFile = join(root, 'deploy/helm/values.schema.json');

/** The schema of the values, which refuses a name that is no setting. */
export async function schemaWithSettings(): Promise<string> {
  const schema: { definitions: Record<string, unknown> } = JSON.parse(await readFile(schemaFile, 'utf8'));
  const { gateway: _gateway, ...stored } = configs;
  const all = { settingsOfAll: Object.values(configs), settingsOfStored: Object.values(stored) };
  const each = Object.entries(configs).map(([service, config]) => [definitionOf(service), [config]] as const);
  for (const [name, some] of [...Object.entries(all), ...each]) {
    const names = some.flatMap((config) =>
      listSettings(config).flatMap((setting) =>
        setting.inFile ? [setting.name, `${setting.name}_FILE`] : [setting.name],
      ),
    );
    schema.definitions[name] = { enum: [...new Set(names)].toSorted() };
    // A key of a Secret is mounted as a file, and the setting NAME_FILE names it.
    const inFiles = names.filter((one) => one.endsWith('_FILE')).map((one) => one.slice(0, -'_FILE'.length));
    schema.definitions[name.replace('settings', 'secrets')] = { enum: [...new Set(inFiles)].toSorted() };
  }
  return formatted(schemaFile, JSON.stringify(schema));
}

const definitionOf = (service: string): string =>
  `settingsOf${service.charAt(0).toUpperCase()}${service.slice(1)}`;

export const readmeFile = join(root, 'deploy/helm/README.md');

/** The README of the chart: each value of values.yaml with its default and the comment above it. */
export async function readme(): Promise<string> {
  const { contents } = parseDocument(await readFile(join(root, 'deploy/helm/values.yaml'), 'utf8'));
  if (!isMap<Node, Node>(contents)) throw new Error('values.yaml is no YAML mapping');
  const rows = withoutRepetitions(rowsOf(contents, ''));
  const lines = [
    '# The chart of the integration sync service',
    '',
    '```sh',
    'helm upgrade --install sync deploy/helm --namespace sync --values my-values.yaml',
    'helm test sync --namespace sync',
    '```',
    '',
    'What has to be there first, and how to upgrade, says [Operating it](../../docs/operating.md#kubernetes). `npm run chart` writes',
    'this page from `values.yaml`.',
    '',
    '| Value | Default | What it is |',
    '| --- | --- | --- |',
    ...rows.map(({ path, value, what }) => `| \`${path}\` | \`${value.replaceAll('|', '\\|')}\` | ${what} |`),
    '',
  ];
  return formatted(readmeFile, lines.join('\n'));
}

interface Row {
  path: string;
  value: string;
  what: string;
}

function rowsOf(map: YAMLMap<Node, Node>, above: string): Row[] {
  return map.items.flatMap((pair: Pair<Node, Node>, index) => {
    const { key, value } = pair;
    // The YAML parser attaches the comment above the first key of a map to the map, and not to the key.
    const comment = (index === 0 ? map.commentBefore : undefined) ?? key.commentBefore ?? '';
    const what = comment
      .split('\n\n')
      .at(-1)
      ?.split('\n')
      .map((line) => line.trim())
      .join(' ');
    const path = `${above}${isScalar(key) ? String(key.value) : ''}`;
    if (isMap<Node, Node>(value) && value.flow !== true && value.items.length > 0) {
      const [first, ...below] = rowsOf(value, `${path}.`);
      // The comment above a map becomes that of its first value, if that value has none.
      return first === undefined
        ? []
        : [Object.assign(first, { what: first.what || (what ?? '') }), ...below];
    }
    return [{ path, value: JSON.stringify(value?.toJSON()), what: what ?? '' }];
  });
}

const ofServices = /^services\.(\w+)\./;

/** Values that all services share are once in the table, as `services.NAME`. */
function withoutRepetitions(rows: readonly Row[]): Row[] {
  const services = Object.keys(configs);
  const isAlike = ({ path, value }: Row): boolean => {
    const [, of = ''] = ofServices.exec(path) ?? [];
    const alike = new Set(services.map((name) => path.replace(`services.${of}.`, `services.${name}.`)));
    return rows.filter((row) => alike.has(row.path) && row.value === value).length === services.length;
  };
  return rows.flatMap((row) => {
    if (!ofServices.test(row.path) || !isAlike(row)) return [row];
    const [first = ''] = services;
    const isFirst = row.path.startsWith(`services.${first}.`);
    return isFirst ? [{ ...row, path: row.path.replace(ofServices, 'services.NAME.') }] : [];
  });
}

if (import.meta.main) {
  await writeFile(schemaFile, await schemaWithSettings());
  await writeFile(readmeFile, await readme());
  const outdated: string[] = [];
  for (const name of renderings) {
    const text = await render(name);
    if (text !== undefined) await writeFile(renderedFile(name), text);
    else if (!(await readFile(renderedFile(name), 'utf8')).startsWith(`${await firstLineOf(name)}\n`))
      outdated.push(renderedFile(name));
  }
  const notes = await renderNotes();
  if (notes !== undefined) await writeFile(notesFile, notes);
  // An unchanged chart renders the same files as before, so that most changes need no helm.
  if (outdated.length > 0)
    throw new Error(`there is no helm on PATH, and HELM names none, to render ${outdated.join(', ')} again`);
  process.stdout.write(`Written: deploy/helm${notes === undefined ? '' : ', test/chart/rendered'}.\n`);
}
