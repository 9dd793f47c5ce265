// Finds the metrics and labels that a PromQL expression names, by Prometheus's own grammar.
import { parser } from '@prometheus-io/lezer-promql';

export interface Selector {
  metric: string;
  labels: string[];
}

export interface Parsed {
  /** The offsets of syntax errors. */
  wrongAt: number[];
  selectors: Selector[];
  /** The labels in `by (…)`. */
  grouping: string[];
}

export function parsePromql(expression: string): Parsed {
  const parsed: Parsed = { wrongAt: [], selectors: [], grouping: [] };
  let isGrouping = false;
  parser.parse(expression).iterate({
    enter({ name, type, from, to }) {
      const text = expression.slice(from, to);
      if (type.isError) parsed.wrongAt.push(from);
      if (name === 'GroupingLabels') isGrouping = true;
      if (name === 'VectorSelector') parsed.selectors.push({ metric: '', labels: [] });
      const selector = parsed.selectors.at(-1);
      if (name === 'Identifier' && selector?.metric === '') selector.metric = text;
      if (name === 'LabelName') (isGrouping ? parsed.grouping : selector?.labels)?.push(text);
    },
    leave({ name }) {
      if (name === 'GroupingLabels') isGrouping = false;
    },
  });
  return parsed;
}
