// The tables and lists that the code knows better than a person does: routes, fields and error codes of docs/api.md, settings of
// docs/settings.md, metrics and alerts of docs/monitoring.md, streams of docs/operating.md. Each table is between two
// marks, and is written again from the contracts, the services' own schemas, metrics.ts, and Prometheus's rules.
import { readFileSync } from 'node:fs';
import { basePath, Batch, codes, Product, routes, scopesOf, Supplier } from '@integration-sync/contracts';
import { listSettings, type Setting } from '@integration-sync/runtime/config';
import { expectedStreams } from '@integration-sync/webhooks/operating';
import type { TObject, TSchema } from 'typebox';
import { parse } from 'yaml';
import { configs } from '../stack/configs.ts';
import { metricRows, rowOfNode } from './metrics.ts';

const recordKind = /\b(?:suppliers|products|batches)\b/g;

/** The tables of a document by the names in its marks. */
export type Tables = Readonly<Record<string, string>>;

export const tablesOf = {
  'api.md': () => ({
    routes: routeList(),
    fields: fieldLists({ suppliers: Supplier, products: Product, batches: Batch }),
    codes: codeList(),
  }),
  'settings.md': () => ({ settings: settingsLists() }),
  'monitoring.md': () => ({ metrics: metricList(), alerts: alertLists() }),
  'operating.md': () => ({ streams: streamTable() }),
} as const satisfies Record<string, () => Tables>;

export type Document = keyof typeof tablesOf;

/** The text of a document with its tables made anew. */
export const fillTables = (document: Document, text: string, tables: Tables): string =>
  Object.entries(tables).reduce((filled, [name, rows]) => fill(document, filled, name, rows), text);

function fill(document: Document, text: string, name: string, rows: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from)
    throw new Error(`docs/${document} lacks the marks around its ${name}: ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${rows}\n\n${text.slice(to)}`;
}

/** Routes that differ by the kind of records alone have one entry, with the scope at its end. */
function routeList(): string {
  const alike = Map.groupBy(routes, (route) =>
    [route.method, route.path, ...scopesOf(route)].join(' ').replaceAll(recordKind, '<kind>'),
  );
  const entries = Array.from(alike.values(), (same): Entry => {
    const [first] = same;
    const paths = same.map(({ method, path }, index) =>
      [...(index === 0 ? [method] : []), path.replace(basePath, '')].join(' '),
    );
    const isOfKinds = same.length > 1;
    const summary = first?.summary ?? '';
    const scopes = first === undefined ? [] : scopesOf(first);
    const named = scopes.map((one) => `\`${isOfKinds ? one.replace(recordKind, '<kind>') : one}\``);
    const said = isOfKinds ? summary.replace(recordKind, 'records') : summary;
    return [paths.map((path) => `\`${path}\``).join(', '), `${said} (${named.join(' or ')})`];
  });
  return list(entries);
}

/** A list of fields for each kind of record. Fields with the same rule share an entry; a rule for all texts is left out. */
function fieldLists(kinds: Readonly<Record<string, TObject>>): string {
  const lists = Object.entries(kinds).map(([plural, { properties }]) => {
    const fields = Object.entries<TSchema & { 'x-expected'?: string; 'x-required'?: string }>(properties);
    const alike = Map.groupBy(fields, ([, field]) =>
      JSON.stringify([field['x-required'] !== undefined, field['x-expected']]),
    );
    const entries = Array.from(alike.values(), (same): Entry => {
      const names = same.map(([name]) => `\`${name}\``).join(', ');
      const { 'x-expected': expected = '', 'x-required': required } = same[0]?.[1] ?? {};
      return [
        required === undefined ? names : `${names} (required)`,
        expected.replace(', without NUL or lone surrogates', ''),
      ];
    });
    return `Of ${plural}:\n\n${list(entries)}`;
  });
  return lists.join('\n\n');
}

/** A list of the HTTP statuses, each with its error codes. */
function codeList(): string {
  const byStatus = Map.groupBy(Object.entries(codes), ([, { status }]) => status);
  return list(
    Array.from(byStatus, ([status, same]) => [
      String(status),
      same.map(([code]) => `\`${code}\``).join(', '),
    ]),
  );
}

/** A list for each group of services that share settings. */
function settingsLists(): string {
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
    const entries = same.map(({ name, default: value = '', required, description, inFile }): Entry => {
      const given = value === '' ? (required ? ' (required)' : '') : ` (\`${value}\`)`;
      return [`\`${name}\`${inFile ? ' `_FILE`' : ''}${given}`, description];
    });
    return `### Of ${services}\n\n${list(entries)}`;
  }).join('\n\n');
}

function metricList(): string {
  const entries = metricRows.map(({ metrics, says }): Entry => {
    const names = metrics.map(({ name, labels = [] }) =>
      labels.length === 0 ? `\`${name}\`` : `\`${name}{${labels.join(',')}}\``,
    );
    return [names.join(', '), says];
  });
  return list([...entries, [rowOfNode.name, rowOfNode.says]]);
}

interface Rule {
  alert: string;
  labels: { severity: string; service?: string };
  annotations: { summary: string; description: string };
}

/** The lists of alerts by severity. An alert that the rules have for each service has only one entry. */
function alertLists(): string {
  const text = readFileSync(new URL('../../deploy/prometheus/rules.yaml', import.meta.url), 'utf8');
  const { groups }: { groups: { rules: Rule[] }[] } = parse(text);
  const rules = Map.groupBy(
    groups.flatMap((group) => group.rules),
    ({ alert }) => alert,
  );
  const alerts = [...rules.values()].flatMap((same) => same.slice(0, 1));
  return Array.from(
    Map.groupBy(alerts, ({ labels }) => labels.severity),
    ([severity, same]) => {
      const entries = same.map(({ labels, annotations }): Entry => {
        const { summary, description } = annotations;
        return [summary.replace(`: ${labels.service}`, ''), description];
      });
      return `${severity === 'critical' ? 'Critical' : 'Warnings'}:\n\n${list(entries)}`;
    },
  ).join('\n\n');
}

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

/** An entry of a list: its name and its description. */
type Entry = readonly [name: string, text: string];

const list = (entries: readonly Entry[]): string =>
  entries.map(([name, text]) => `- ${name.startsWith('`') ? name : `**${name}**`}: ${text}`).join('\n');
