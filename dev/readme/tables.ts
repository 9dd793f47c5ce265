// The README's tables that the code knows better than a person does: its routes and its settings. Each stands
// between two marks, and is written anew from the route table and from the services' own schemas.
import { BatchesConfig } from '@integration-sync/batches/config';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { basePath, routes } from '@integration-sync/contracts';
import { GatewayConfig } from '@integration-sync/gateway/config';
import { listSettings, type Setting } from '@integration-sync/runtime/config';
import { WebhooksConfig } from '@integration-sync/webhooks/config';

const services = {
  gateway: GatewayConfig,
  catalog: CatalogConfig,
  batches: BatchesConfig,
  webhooks: WebhooksConfig,
};

/** The text with its tables as they should be. */
export function fillTables(readme: string): string {
  return fill(fill(readme, 'routes', routeTable()), 'settings', settingsTable());
}

function fill(text: string, name: string, rows: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the README has no place for its ${name}: ${begin} … ${end}`);
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

function settingsTable(): string {
  const settings = new Map<string, Setting & { of: string[] }>();
  for (const [service, schema] of Object.entries(services)) {
    for (const setting of listSettings(schema)) {
      const known = settings.get(setting.name);
      if (known === undefined) settings.set(setting.name, { ...setting, of: [service] });
      else known.of.push(service);
    }
  }
  const all = Object.keys(services).length;
  const rows = [...settings.values()].map(({ name, of, default: value, required, description }) => [
    `\`${name}\``,
    of.length === all ? 'all' : of.join(', '),
    value === undefined ? (required ? 'needed' : '–') : `\`${value === '' ? '""' : value}\``,
    description,
  ]);
  return table(['Variable', 'Of', 'Default', 'What it is'], rows);
}

const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
