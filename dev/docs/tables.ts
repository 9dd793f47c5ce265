// The tables that the code knows better than a person does: routes, fields and error codes of docs/api.md, settings of
// docs/settings.md, metrics and alerts of docs/monitoring.md, streams of docs/operating.md. Each stands between two
// marks, and is written again from the contracts, the services' own schemas, and the files of operating/.
import { basePath, Batch, codes, Product, routes, Supplier } from '@integration-sync/contracts';
import { listSettings, type Setting } from '@integration-sync/runtime/config';
import { expectedStreams } from '@integration-sync/webhooks/operating';
import type { TObject, TSchema } from 'typebox';
import { configs } from '../stack/configs.ts';
import { alerts } from './operating/alerts.ts';
import { metricRows, rowOfNode } from './operating/metrics.ts';

/** The tables of a document by the names in its marks. */
export type Tables = Readonly<Record<string, string>>;

export const tablesOf = {
  'api.md': () => ({
    routes: routeTable(),
    fields: fieldTable({ suppliers: Supplier, products: Product, batches: Batch }),
    codes: codeTable(),
  }),
  'settings.md': () => ({ settings: settingsTable() }),
  'monitoring.md': () => ({ metrics: metricTable(), alerts: alertTable() }),
  'operating.md': () => ({ streams: streamTable() }),
} as const satisfies Record<string, () => Tables>;

export type Document = keyof typeof tablesOf;

/** The text with its tables as they should be. */
export const fillTables = (document: Document, text: string, tables: Tables): string =>
  Object.entries(tables).reduce((filled, [name, rows]) => fill(document, filled, name, rows), text);

function fill(document: Document, text: string, name: string, rows: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from)
    throw new Error(`docs/${document} has no place for its ${name}: ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${rows}\n\n${text.slice(to)}`;
}

function routeTable(): string {
  const rows = routes.map(({ method, path, summary, scope }) => [
    `\`${method} ${path.replace(basePath, '')}\``,
    summary,
    `\`${scope}\``,
  ]);
  return table(['Route', 'What it does', 'Scope'], rows);
}

/** Fields of a kind that take the same have one row. */
function fieldTable(kinds: Readonly<Record<string, TObject>>): string {
  const rows = Object.entries(kinds).flatMap(([plural, { properties }]) => {
    const fields = Object.entries<TSchema & { 'x-expected'?: string; 'x-required'?: string }>(properties);
    const alike = Map.groupBy(fields, ([, field]) =>
      JSON.stringify([field['x-required'] !== undefined, field['x-expected']]),
    );
    return Array.from(alike.values(), (same) => {
      const names = same.map(([name]) => `\`${name}\``).join(', ');
      const { 'x-expected': expected = '', 'x-required': required } = same[0]?.[1] ?? {};
      return [plural, names, required === undefined ? '' : 'needed', expected];
    });
  });
  return table(['Of', 'Field', '', 'What it takes'], rows);
}

const codeTable = (): string =>
  table(
    ['Status', '`code`', 'What it is'],
    Object.entries(codes).map(([code, { status, title }]) => [String(status), `\`${code}\``, title]),
  );

function settingsTable(): string {
  const settings = new Map<string, Setting & { of: string[] }>();
  for (const [service, schema] of Object.entries(configs)) {
    for (const setting of listSettings(schema)) {
      const known = settings.get(setting.name);
      if (known === undefined) settings.set(setting.name, { ...setting, of: [service] });
      else known.of.push(service);
    }
  }
  const all = Object.keys(configs).length;
  const rows = [...settings.values()].map(({ name, of, default: value, required, description, inFile }) => [
    `\`${name}\`${inFile ? ' `_FILE`' : ''}`,
    of.length === all ? 'all' : of.join(', '),
    value === undefined ? (required ? 'needed' : '–') : `\`${value === '' ? '""' : value}\``,
    description,
  ]);
  return table(['Variable', 'Of', 'Default', 'What it is'], rows);
}

function metricTable(): string {
  const rows = metricRows.map(({ metrics, says }) => {
    const names = metrics.map(({ name, labels = [] }) =>
      labels.length === 0 ? `\`${name}\`` : `\`${name}{${labels.join(',')}}\``,
    );
    return [names.join(', '), says];
  });
  return table(['Metric', 'What it is'], [...rows, [rowOfNode.name, rowOfNode.says]]);
}

/** The table of alerts; their expressions stand in deploy/prometheus/rules.yaml. */
const alertTable = (): string =>
  table(
    ['Alert', 'Severity', 'What to do first'],
    alerts.map(({ title, severity, advice }) => [title, severity, advice]),
  );

const dayMs = 24 * 60 * 60 * 1000;

/** The table of streams, as they are created if no setting is set. */
function streamTable(): string {
  const rows = expectedStreams({}).map((spec) => [
    spec.name,
    spec.subjects.map((subject) => `\`${subject}\``).join(', '),
    spec.description,
    [
      `${(spec.maxAgeMs ?? 0) / dayMs} days`,
      ...(spec.settings?.maxAgeMs === undefined ? [] : [`or \`${spec.settings.maxAgeMs.name}\``]),
    ].join(' '),
    spec.discard === 'new' ? 'refuses' : 'drops the oldest',
  ]);
  return table(['Stream', 'Subjects', 'What it has', 'Kept', 'When it is full, it'], rows);
}

const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
