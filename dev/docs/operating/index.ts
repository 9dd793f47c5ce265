// What tests import to compare the operating guide with a running stack.
export { metricRows, metricsOfNode, type Metric } from './metrics.ts';
