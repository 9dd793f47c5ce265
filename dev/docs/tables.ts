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

const recordKind = /\b(?:suppliers|products|batches)\b/g;

/** The tables of a document by the names in its marks. */
export type Tables = Readonly<Record<string, string>>;

export const tablesOf = {
  'api.md': () => ({
    routes: routeTable(),
    fields: fieldTable({ suppliers: Supplier, products: Product, batches: Batch }),
    codes: codeTable(),
  }),
  'settings.md': () => ({ settings: settingsTables() }),
  'monitoring.md': () => ({ metrics: metricTable(), alerts: alertTables() }),
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

/** Routes that differ by the kind of records alone have one row. */
function routeTable(): string {
  const alike = Map.groupBy(routes, ({ method, path, scope }) =>
    [method, path, scope].join(' ').replaceAll(recordKind, '<kind>'),
  );
  const rows = Array.from(alike.values(), (same) => {
    const [first] = same;
    const paths = same.map(({ method, path }, index) =>
      [...(index === 0 ? [method] : []), path.replace(basePath, '')].join(' '),
    );
    const [summary = '', scope = ''] =
      same.length === 1
        ? [first?.summary, first?.scope]
        : [first?.summary.replace(recordKind, 'records'), first?.scope.replace(recordKind, '<kind>')];
    return [paths.map((path) => `\`${path}\``).join(', '), summary, `\`${scope}\``];
  });
  return table(['Route', 'What it does', 'Scope'], rows);
}

/** Fields of a kind that take the same have one row. The document says of all texts what none may have. */
function fieldTable(kinds: Readonly<Record<string, TObject>>): string {
  const rows = Object.entries(kinds).flatMap(([plural, { properties }]) => {
    const fields = Object.entries<TSchema & { 'x-expected'?: string; 'x-required'?: string }>(properties);
    const alike = Map.groupBy(fields, ([, field]) =>
      JSON.stringify([field['x-required'] !== undefined, field['x-expected']]),
    );
    return Array.from(alike.values(), (same) => {
      const names = same.map(([name]) => `\`${name}\``).join(', ');
      const { 'x-expected': expected = '', 'x-required': required } = same[0]?.[1] ?? {};
      return [
        plural,
        required === undefined ? names : `${names} (needed)`,
        expected.replace(', without NUL or lone surrogates', ''),
      ];
    });
  });
  return table(['Of', 'Field', 'What it takes'], rows);
}

/** The codes of a status have one row: their names say what they are. */
function codeTable(): string {
  const byStatus = Map.groupBy(Object.entries(codes), ([, { status }]) => status);
  const rows = Array.from(byStatus, ([status, same]) => [
    String(status),
    same.map(([code]) => `\`${code}\``).join(', '),
  ]);
  return table(['Status', '`code`'], rows);
}

/** A table for each group of services that share settings. */
function settingsTables(): string {
  const settings = new Map<string, Setting & { of: string[] }>();
  for (const [service, schema] of Object.entries(configs)) {
    for (const setting of listSettings(schema)) {
      const known = settings.get(setting.name);
      if (known === undefined) settings.set(setting.name, { ...setting, of: [service] });
      else known.of.push(service);
    }
  }
  const all = Object.keys(configs).length;
  const byServices = Map.groupBy(settings.values(), ({ of }) =>
    of.length === all ? 'all services' : of.join(', '),
  );
  return Array.from(byServices, ([services, same]) => {
    const rows = same.map(({ name, default: value, required, description, inFile }) => [
      `\`${name}\`${inFile ? ' `_FILE`' : ''}`,
      value === undefined ? (required ? 'needed' : '') : `\`${value === '' ? '""' : value}\``,
      description,
    ]);
    return `### Of ${services}\n\n${table(['Variable', 'Default', 'What it is'], rows)}`;
  }).join('\n\n');
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

/** The alerts of each severity; their expressions are in deploy/prometheus/rules.yaml. */
const alertTables = (): string =>
  Array.from(
    Map.groupBy(alerts, ({ severity }) => severity),
    ([severity, same]) =>
      table(
        [severity === 'critical' ? 'Critical' : 'Warning', 'What to do first'],
        same.map(({ title, advice }) => [title, advice]),
      ),
  ).join('\n\n');

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
