// Events to deliveries: the bundles that came since the last batch are one batch, with one look-up for all integrations
// in it, and parcels of what goes where, by the way that each integration's take (ways.ts). Their ids are made of what is
// in them, so that a batch that was half done when its replica died is done again without harm.
import { setTimeout as wait } from 'node:timers/promises';
import { bundlesStream, readPartitionedSubject, unbundle, type Bundle } from '@integration-sync/contracts';
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Span, SpanStart, Tracing } from '@integration-sync/runtime/tracing';
import type { WebhookMetrics } from '../metrics.ts';
import type { Lease } from '../streams/leases.ts';
import { firstSending, packParcels, type Message } from '../streams/messages.ts';
import type { Way } from '../streams/subjects.ts';
import { wayOf, type Unsettled } from '../streams/ways.ts';
import { openBatchQueue } from '../tools/batch-queue.ts';
import { readStreamEvent, type StreamEvent } from './event.ts';
import { matchEvents, type Group } from './match.ts';
import type { Subscribers } from './subscribers.ts';

export interface Fanout {
  /** For the consumer of the stream, which bounds how many bundles are under way. */
  take: (message: StreamMessage) => void;
  /** Resolves when it keeps up with the events that come, or after a while; undefined if it does now. */
  keptUp(): Promise<void> | undefined;
  settled(): Promise<void>;
}

/** A bundle that a replica has taken it fans out to the end, whether its lease lapses meanwhile or not. */
type BundleLease = Pick<Lease, 'message' | 'ack' | 'giveBack'>;

export interface FanoutOptions {
  subscribers: Pick<Subscribers, 'of'>;
  bus: Pick<Bus, 'publishBatch'>;
  leases: { take: (message: StreamMessage) => BundleLease | undefined };
  metrics: Pick<WebhookMetrics, 'fanoutLag' | 'fannedOut'>;
  countUnsettled: () => Promise<Unsettled>;
  /** Some integration has something on a way of its own. */
  onBacklog: () => void;
  tracing?: Tracing | undefined;
  log: Log;
}

const batchEvents = 2_000;
/** It is behind when more events than that wait while a batch is under way. */
const waitingMax = 500;
const keptUpWithinMs = 500;
/** Bounds what one batch of events makes in memory, however many endpoints there are. */
const publishMessagesMax = 500;
const publishBytesMax = 4 * 1024 * 1024;
const retryMs = 1_000;

/** A bundle that this replica has taken. */
interface Taken {
  lease: BundleLease;
  bundle: Bundle;
  /** From its being taken to its deliveries' being stored. */
  span: Span | undefined;
  /** For its deliveries. */
  traceparent: string | undefined;
}

interface Outgoing {
  integration: string;
  groups: readonly Group[];
  count: number;
  way: Way;
}

export function openFanout(options: FanoutOptions): Fanout {
  const { subscribers, bus, leases, metrics, countUnsettled, onBacklog, tracing, log } = options;

  /** Says how many deliveries it made. */
  const fanOut = async (batch: readonly Taken[]): Promise<number> => {
    const byIntegration = groupBundles(batch);
    const found = await subscribers.of([...byIntegration.keys()]);
    const matched = matchAll(found, byIntegration);
    if (matched.length === 0) return 0;
    const unsettled = await countUnsettled();
    const all = matched.map(({ integration, groups, count }): Outgoing => {
      const way = wayOf(integration, count, unsettled);
      return { integration, groups, count, way };
    });
    const { shared = [], backlog = [] } = Object.groupBy(all, ({ way }) => way);
    // Little work that many wait for, before much work that can wait.
    await publishAll(bus, shared);
    await publishAll(bus, backlog);
    if (backlog.length > 0) onBacklog();
    return all.reduce((sum, { count }) => sum + count, 0);
  };

  const work = async (batch: readonly Taken[]): Promise<void> => {
    const events = batch.reduce((sum, { bundle }) => sum + bundle.count, 0);
    waiting -= events;
    if (waiting <= waitingMax) less.resolve();
    try {
      const deliveries = await fanOut(batch);
      for (const { lease, span } of batch) {
        lease.ack();
        span?.end();
      }
      metrics.fannedOut(events, deliveries);
      const oldest = batch[0]?.lease.message;
      if (oldest !== undefined) metrics.fanoutLag((Date.now() - oldest.storedAt.getTime()) / 1000);
    } catch (error) {
      log.warn({ err: error, events }, 'events could not be fanned out, trying again');
      for (const { lease, span } of batch) {
        lease.giveBack(retryMs);
        span?.end(error);
      }
    }
  };
  let waiting = 0;
  let less = Promise.withResolvers<void>();
  const queue = openBatchQueue<Taken>({
    max: batchEvents,
    weigh: ({ bundle }) => bundle.count,
    // Events that arrive together are fanned out together.
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    work,
  });

  return {
    take(message) {
      const bundle = bundleOf(message);
      if (bundle === undefined) {
        message.term('not a bundle of events');
        return;
      }
      const lease = leases.take(message);
      if (lease === undefined) return;
      if (waiting <= waitingMax && waiting + bundle.count > waitingMax) less = Promise.withResolvers();
      waiting += bundle.count;
      const span = tracing?.begin(startOf(message, bundle));
      const traceparent = span?.traceparent ?? message.traceparent;
      queue.add({ lease, bundle, span, traceparent });
    },
    keptUp() {
      if (waiting <= waitingMax) return undefined;
      return Promise.race([less.promise, wait(keptUpWithinMs, undefined, { ref: false })]);
    },
    settled: () => queue.settled(),
  };
}

/** Integrations of which some event is for some endpoint. */
function matchAll(
  found: Awaited<ReturnType<Subscribers['of']>>,
  byIntegration: ReadonlyMap<string, readonly Taken[]>,
): Omit<Outgoing, 'way'>[] {
  const matched: Omit<Outgoing, 'way'>[] = [];
  for (const [integration, subscribed] of found) {
    // Where no endpoint subscribes, nothing is even read.
    if (subscribed.length === 0) continue;
    const groups = matchEvents(subscribed, readEvents(byIntegration.get(integration) ?? []));
    const count = groups.reduce((sum, { to, events }) => sum + to.length * events.length, 0);
    if (count > 0) matched.push({ integration, groups, count });
  }
  return matched;
}

/** A bounded number of parcels and bytes at a time. */
async function publishAll(bus: Pick<Bus, 'publishBatch'>, outgoing: readonly Outgoing[]): Promise<void> {
  let messages: Message[] = [];
  let bytes = 0;
  for (const parcel of outgoing.values().flatMap(parcelsOf)) {
    messages.push(parcel);
    bytes += parcel.body.length;
    if (messages.length < publishMessagesMax && bytes < publishBytesMax) continue;
    await bus.publishBatch(messages);
    messages = [];
    bytes = 0;
  }
  if (messages.length > 0) await bus.publishBatch(messages);
}

const startOf = (message: StreamMessage, bundle: Bundle): SpanStart => ({
  name: 'fan out',
  kind: 'consumer',
  parent: message.traceparent,
  attributes: {
    'messaging.system': 'nats',
    'messaging.destination.name': bundlesStream,
    'sync.integration': integrationOf(message),
    'sync.events': bundle.count,
  },
});

function* parcelsOf({ integration, groups, way }: Outgoing): Generator<Message> {
  for (const { to, events } of groups) {
    yield* packParcels({ integration, sending: firstSending, to, events }, way);
  }
}

/** An event that came without a bundle is one of its own. */
function bundleOf({ subject, id, sequence, body }: StreamMessage): Bundle | undefined {
  if (!isEvent(subject)) return unbundle(body);
  return { count: 1, place: sequence, events: () => [{ id, body }] };
}

/** Of a bundle, or of `events.<integration>.<entity>.<action>` */
const integrationOf = ({ subject }: StreamMessage): string =>
  (isEvent(subject) ? subject.split('.', 2)[1] : readPartitionedSubject(subject)?.integration) ?? '';

const isEvent = (subject: string): boolean => subject.startsWith('events.');

function groupBundles(batch: readonly Taken[]): Map<string, Taken[]> {
  const byIntegration = new Map<string, Taken[]>();
  for (const taken of batch) {
    const integration = integrationOf(taken.lease.message);
    const others = byIntegration.get(integration);
    if (others === undefined) byIntegration.set(integration, [taken]);
    else others.push(taken);
  }
  return byIntegration;
}

const readEvents = (batch: readonly Taken[]): StreamEvent[] =>
  batch.flatMap(({ bundle, traceparent }) =>
    bundle
      .events()
      .flatMap((event) => readStreamEvent({ ...event, sequence: bundle.place, traceparent }) ?? []),
  );
