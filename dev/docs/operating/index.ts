// What tests import, which compare what is written here with a running stack.
export { metricRows, metricsOfNode, type Metric } from './metrics.ts';
