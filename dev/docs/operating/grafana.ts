// A dashboard as Grafana imports it. What a panel shows is described by the rows of the table of metrics.
import type { Dashboard, Panel, Query } from './dashboards.ts';
import { metricRows, type MetricRow } from './metrics.ts';

const columns = 3;
const [width, height] = [24 / columns, 8];
/** A variable of the dashboard: the person chooses the data source at the top. */
const datasource = { type: 'prometheus', uid: '${datasource}' };

export function grafanaDashboard({ uid, title, rows }: Dashboard): object {
  const panels: object[] = [];
  let [id, y] = [0, 0];
  for (const row of rows) {
    panels.push({
      id: ++id,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    });
    y += 1;
    for (const [place, panel] of row.panels.entries()) {
      const x = (place % columns) * width;
      const below = y + Math.floor(place / columns) * height;
      panels.push({ id: ++id, gridPos: { x, y: below, w: width, h: height }, ...grafanaPanel(panel) });
    }
    y += Math.ceil(row.panels.length / columns) * height;
  }
  return {
    uid,
    title,
    tags: ['integration-sync'],
    editable: true,
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {} },
      ],
    },
    panels,
  };
}

function grafanaPanel(panel: Panel): object {
  const { title, unit, queries, table = false } = panel;
  return {
    type: table ? 'table' : 'timeseries',
    title,
    description: describe(queries),
    datasource,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: table
      ? {}
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: queries.map(({ expression, legend }, place) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + place),
      datasource,
      expr: expression,
      legendFormat: legend,
      instant: table,
      format: table ? 'table' : 'time_series',
    })),
  };
}

/** The description of a panel: what the table of metrics says of its metrics. The table has no metrics of prom-client. */
function describe(queries: readonly Query[]): string {
  const words = new Set(queries.flatMap(({ expression }) => expression.match(/\w+/g) ?? []));
  const isNamed = ({ metrics }: MetricRow): boolean =>
    metrics.some(({ name }) => [name, `${name}_bucket`, `${name}_sum`].some((one) => words.has(one)));
  return metricRows
    .filter(isNamed)
    .map(({ says }) => says.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'))
    .join('\n\n');
}
