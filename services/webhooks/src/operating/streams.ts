// Which streams and consumers there are when all services run, by the settings of one of them.
import { bundlesStreamSpec, eventsStream, eventsStreamSpec } from '@integration-sync/contracts';
import type { ExpectedStream } from '@integration-sync/runtime/bus';
import { unbundledConsumer } from '../fanout/unbundled.ts';
import {
  backlogConsumer,
  deliverConsumer,
  deliveriesStream,
  fanoutConsumer,
  streamSpecs,
  type WebhooksStreamSettings,
} from '../streams/streams.ts';

export const expectedStreams = (settings: WebhooksStreamSettings): ExpectedStream[] => [
  { spec: eventsStreamSpec(settings), consumers: [] },
  { spec: bundlesStreamSpec(settings), consumers: [fanoutConsumer] },
  ...streamSpecs(settings).map((spec) => ({
    spec,
    consumers: spec.name === deliveriesStream ? [deliverConsumer] : [],
  })),
];

/** Which the release before has made, and this one reads for as long as they are there. */
export const leftOverConsumers: readonly { stream: string; consumer: string }[] = [
  { stream: eventsStream, consumer: unbundledConsumer },
];

/** Replicas make and drop them as backlogs come and go. */
export const isBacklogConsumer = (stream: string, consumer: string): boolean =>
  stream === deliveriesStream && consumer.startsWith(backlogConsumer('').name);
