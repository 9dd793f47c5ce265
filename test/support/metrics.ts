// A page of metrics as Prometheus reads it.

export interface ServedMetric {
  name: string;
  type: string;
  /** The names of the series: those of a histogram end in `_bucket`, `_sum` and `_count`. */
  series: string[];
  /** The names of the labels of each series, sorted; without `le`, which only buckets have. */
  labels: string[][];
}

export async function readMetrics(url: string): Promise<ServedMetric[]> {
  const text = await (await fetch(url)).text();
  const metrics: ServedMetric[] = [];
  for (const line of text.split('\n')) {
    const [, name, type] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) metrics.push({ name, type, series: [], labels: [] });
    const [, series, inside = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    const metric = metrics.at(-1);
    if (series === undefined || metric === undefined) continue;
    const names = [...inside.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label = '']) => label);
    metric.series.push(series);
    metric.labels.push(names.filter((label) => label !== 'le').toSorted());
  }
  return metrics;
}
