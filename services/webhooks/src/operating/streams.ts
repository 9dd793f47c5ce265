// Which streams there are when all services run, by the settings of one of them.
export { streamSpecs as expectedStreams } from '../streams/streams.ts';

/** Of a release that copied event batches from queue to queue: this one reads none of them. */
export const formerStreams: readonly string[] = ['BUNDLES', 'DELIVERIES', 'HELD'];
