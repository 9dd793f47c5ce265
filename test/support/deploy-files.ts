// The files under deploy/ as Grafana and Prometheus read them.
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

export const repository = join(import.meta.dirname, '../..');

interface GrafanaPanel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { refId: string; expr: string }[];
}

export interface GrafanaDashboard {
  file: string;
  uid: string;
  panels: GrafanaPanel[];
}

export interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export const rulesPath = join(repository, 'deploy/prometheus/rules.yaml');

export async function readDashboards(): Promise<GrafanaDashboard[]> {
  const files = await Array.fromAsync(glob('deploy/grafana/*.json', { cwd: repository }));
  return Promise.all(
    files.toSorted().map(async (file) => {
      const board = JSON.parse(await readFile(join(repository, file), 'utf8')) as GrafanaDashboard;
      return Object.assign(board, { file });
    }),
  );
}

export async function readRules(): Promise<Rule[]> {
  const { groups } = parse(await readFile(rulesPath, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** Every PromQL expression, with its place. `$__rate_interval`, which Grafana fills in, becomes 5m. */
export async function readExpressions(): Promise<[where: string, expression: string][]> {
  const ofPanels = (await readDashboards()).flatMap(({ file, panels }) =>
    panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ refId, expr }): [string, string] => [
        `${file}: ${title} ${refId}`,
        expr.replaceAll('$__rate_interval', '5m'),
      ]),
    ),
  );
  const ofRules = (await readRules()).map(({ alert, expr, labels }): [string, string] => [
    `rules.yaml: ${alert} ${labels['service'] ?? ''}`,
    expr,
  ]);
  return [...ofPanels, ...ofRules];
}
