// The dashboards and rules as they stand in deploy/, against the list of metrics. A system test compares that list with what a
// running stack serves.
import { metricRows, metricsOfNode, type Metric } from '@integration-sync/dev/metrics';
import { describe, expect, it } from 'vitest';
import { readDashboards, readExpressions, readRules } from '../../support/deploy-files.ts';
import { parsePromql } from '../../support/promql.ts';

const documented = metricRows.flatMap(({ metrics }) => metrics);
const seriesOf = ({ name, type }: Metric): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
const bySeries = new Map(
  [...documented, ...metricsOfNode].flatMap((metric) => seriesOf(metric).map((series) => [series, metric])),
);
/** Prometheus gives the first three (a namespace in Kubernetes alone) to every series that it scrapes. */
const labelsOfAll = ['job', 'instance', 'namespace', 'service'];

const expressions = await readExpressions();

describe.each(expressions)('the expression of %s', (_where, expression) => {
  const { wrongAt, selectors, grouping } = parsePromql(expression);

  it('is PromQL', () => {
    expect(wrongAt).toEqual([]);
    expect(selectors).not.toEqual([]);
  });

  it('names only existing metrics and labels', () => {
    const known = new Set(labelsOfAll);
    for (const { metric, labels } of selectors) {
      const found = bySeries.get(metric);
      expect({ metric, found }).toEqual({ metric, found: expect.anything() });
      const own = [...(found?.labels ?? []), ...(metric.endsWith('_bucket') ? ['le'] : [])];
      expect([...labelsOfAll, ...own]).toEqual(expect.arrayContaining(labels));
      for (const label of own) known.add(label);
    }
    expect([...known]).toEqual(expect.arrayContaining(grouping));
  });

  it('applies rate() only to counters', () => {
    const counted = [...expression.matchAll(/(?:rate|increase)\((\w+)/g)].map(([, series = '']) => series);
    expect(counted.filter((series) => bySeries.get(series)?.type === 'gauge')).toEqual([]);
    const others = selectors.map(({ metric }) => metric).filter((metric) => !counted.includes(metric));
    expect(others.filter((series) => bySeries.get(series)?.type !== 'gauge')).toEqual([]);
  });
});

describe('the dashboards', () => {
  it('show every metric that is documented', () => {
    const ofPanels = expressions.filter(([where]) => where.startsWith('deploy/grafana/'));
    const shown = new Set(
      ofPanels.flatMap(([, expression]) =>
        parsePromql(expression).selectors.map(({ metric }) => bySeries.get(metric)?.name),
      ),
    );
    expect(documented.filter(({ name }) => !shown.has(name)).map(({ name }) => name)).toEqual([]);
  });

  it('give each panel its own position and description, and each dashboard its own name', async () => {
    const dashboards = await readDashboards();
    expect(dashboards.map(({ file }) => file)).toEqual(
      dashboards.map(({ uid }) => `deploy/grafana/${uid}.json`),
    );
    for (const { panels } of dashboards) {
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      for (const { type, targets = [], description = '' } of panels) {
        if (type === 'row') continue;
        expect(targets).not.toEqual([]);
        // Of prom-client's metrics the table says nothing, so their panels say nothing more than their titles.
        const isOurs = targets.some(({ expr }) => documented.some(({ name }) => expr.includes(name)));
        expect(description === '').toBe(!isOurs);
        expect(description).not.toMatch(/\]\(/);
      }
    }
  });
});

describe('the alerting rules', () => {
  it('have a severity and advice, and different names', async () => {
    const rules = await readRules();
    for (const { alert, for: lasts, labels, annotations } of rules) {
      expect(alert).toMatch(/^[A-Z][A-Za-z]+$/);
      expect(lasts).toMatch(/^\d+m$/);
      expect(labels['severity']).toMatch(/^(critical|warning)$/);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/./),
        description: expect.stringMatching(/\.$/),
      });
    }
    const identities = rules.map(({ alert, labels }) => `${alert} ${JSON.stringify(labels)}`);
    expect(new Set(identities).size).toBe(rules.length);
  });
});

describe('the parser of PromQL', () => {
  it.each(['sum by (le (rate(a[5m]))', 'rate(a[5x])', 'a{b="c"', 'sum(a) >', 'a b'])(
    'refuses %s',
    (expression) => {
      expect(parsePromql(expression).wrongAt).not.toEqual([]);
    },
  );

  it('finds the metrics and labels of an expression', () => {
    expect(parsePromql('sum by (le, x) (rate(a_bucket{b=~"1",c!="2"}[5m])) / on () absent(d)')).toEqual({
      wrongAt: [],
      selectors: [
        { metric: 'a_bucket', labels: ['b', 'c'] },
        { metric: 'd', labels: [] },
      ],
      grouping: ['le', 'x'],
    });
  });
});
