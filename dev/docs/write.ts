// npm run docs writes the tables of docs/api.md, settings.md, monitoring.md and operating.md again, and the dashboards of Grafana.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig, type BuiltInParserName } from 'prettier';
import { dashboards } from './operating/dashboards.ts';
import { grafanaDashboard } from './operating/grafana.ts';
import { fillTables, tablesOf, type Document } from './tables.ts';

const documents: readonly Document[] = ['api.md', 'settings.md', 'monitoring.md', 'operating.md'];

export interface WrittenDocument {
  file: URL;
  is: string;
  shouldBe: string;
}

const root = new URL('../../', import.meta.url);

export const documentsAsTheyShouldBe = async (): Promise<WrittenDocument[]> => {
  const filled = documents.map((name) =>
    writtenAs(`docs/${name}`, 'markdown', (text) => fillTables(name, text, tablesOf[name]())),
  );
  const boards = dashboards.map((board) =>
    writtenAs(`deploy/grafana/${board.uid}.json`, 'json', () => JSON.stringify(grafanaDashboard(board))),
  );
  return Promise.all([...filled, ...boards]);
};

async function writtenAs(
  path: string,
  parser: BuiltInParserName,
  make: (is: string) => string,
): Promise<WrittenDocument> {
  const file = new URL(path, root);
  const is = await readFile(file, 'utf8').catch(() => '');
  const shouldBe = await format(make(is), { ...(await resolveConfig(file)), parser });
  return { file, is, shouldBe };
}

if (import.meta.main) {
  const written = await documentsAsTheyShouldBe();
  for (const { file, shouldBe } of written) {
    await mkdir(new URL('.', file), { recursive: true });
    await writeFile(file, shouldBe);
  }
  const names = written.map(({ file }) => file.href.slice(root.href.length));
  process.stdout.write(`Written: ${names.join(', ')}.\n`);
}
