// npm run docs writes the tables of docs/api.md, settings.md, monitoring.md and operating.md again, and what each panel of
// Grafana's dashboards says of its metrics.
import { readFile, writeFile } from 'node:fs/promises';
import { formatted } from '../formatted.ts';
import { describeExpressions } from './metrics.ts';
import { fillTables, tablesOf, type Document } from './tables.ts';

const documents: readonly Document[] = ['api.md', 'settings.md', 'monitoring.md', 'operating.md'];
const dashboards = ['integration-sync-overview.json', 'integration-sync-webhooks.json'];

export interface WrittenDocument {
  file: URL;
  is: string;
  shouldBe: string;
}

const root = new URL('../../', import.meta.url);

export const documentsAsTheyShouldBe = async (): Promise<WrittenDocument[]> => {
  const filled = documents.map((name) =>
    writtenAs(`docs/${name}`, (text) => fillTables(name, text, tablesOf[name]())),
  );
  const described = dashboards.map((name) => writtenAs(`deploy/grafana/${name}`, describePanels));
  return Promise.all([...filled, ...described]);
};

interface Dashboard {
  panels: { description?: string; targets?: readonly { expr: string }[] }[];
}

function describePanels(text: string): string {
  const dashboard: Dashboard = JSON.parse(text);
  for (const panel of dashboard.panels)
    if (panel.targets !== undefined)
      panel.description = describeExpressions(panel.targets.map(({ expr }) => expr));
  return JSON.stringify(dashboard);
}

async function writtenAs(path: string, make: (is: string) => string): Promise<WrittenDocument> {
  const file = new URL(path, root);
  const is = await readFile(file, 'utf8');
  return { file, is, shouldBe: await formatted(path, make(is)) };
}

if (import.meta.main) {
  const written = await documentsAsTheyShouldBe();
  for (const { file, shouldBe } of written) await writeFile(file, shouldBe);
  const names = written.map(({ file }) => file.href.slice(root.href.length));
  process.stdout.write(`Written: ${names.join(', ')}.\n`);
}
