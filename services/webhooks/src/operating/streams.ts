// Which streams and consumers there are when all services run, by the settings of one of them.
import { bundlesStream, eventsStream, eventsStreamSpec } from '@integration-sync/contracts';
import type { ConsumerSpec, ExpectedStream } from '@integration-sync/runtime/bus';
import { unbundledConsumer } from '../fanout/unbundled.ts';
import { allSpecs } from '../streams/partitioning.ts';
import {
  backlogConsumer,
  deliverConsumer,
  deliveriesStream,
  fanoutConsumer,
  type WebhooksStreamSettings,
} from '../streams/streams.ts';

const consumersOf: Readonly<Record<string, readonly ConsumerSpec[]>> = {
  [bundlesStream]: [fanoutConsumer],
  [deliveriesStream]: [deliverConsumer],
};

export const expectedStreams = (settings: WebhooksStreamSettings): ExpectedStream[] => [
  { spec: eventsStreamSpec(settings), consumers: [] },
  ...allSpecs(settings).map((spec) => ({ spec, consumers: consumersOf[spec.name] ?? [] })),
];

/** Which the release before has made, and this one reads for as long as they are there. */
export const leftOverConsumers: readonly { stream: string; consumer: string }[] = [
  { stream: eventsStream, consumer: unbundledConsumer },
];

/** Replicas make and drop them as backlogs come and go. */
export const isBacklogConsumer = (stream: string, consumer: string): boolean =>
  stream === deliveriesStream && consumer.startsWith(backlogConsumer('').name);
