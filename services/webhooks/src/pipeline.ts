// Everything between the log and the receivers, put together:
//
//   EVENT_BATCHES ──▶ reader ──▶ integrations ──▶ endpoint queues ──▶ scheduler ──▶ deliver ──▶ receiver
//                        ▲       (one look-up of   (a cursor into      (fair         │
//                        │        what changed)     the window each)    shares)      ▼
//                    ownership                         ▲                          recorder ──▶ endpoint in MongoDB
//                    (claims, floors) ◀── progress ────┴── open events ◀─────────────┘
//                                         (offsets of those that are behind)
//
// One replica owns a partition of the log, and alone delivers what is in it.
import { setTimeout as wait } from 'node:timers/promises';
import {
  endpointChangedSubject,
  eventBatchesStream,
  Failure,
  partitionOf,
  requestHeaders,
} from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { Store } from '@integration-sync/runtime/store';
import type { SpanStart, Tracing } from '@integration-sync/runtime/tracing';
import { type AttemptLog, openAttemptLog } from './delivering/attempt-log.ts';
import { deliveredSubject, listenForChanges, noted } from './delivering/changes.ts';
import { openDeliver, openReport } from './delivering/deliver.ts';
import type { EndpointQueue } from './delivering/endpoint-queue.ts';
import { type ActiveIntegration, openIntegrations } from './delivering/integrations.ts';
import { type HandedOver, openProgress } from './delivering/progress.ts';
import { openRecorder } from './delivering/recorder.ts';
import { openScheduler } from './delivering/scheduler.ts';
import { type EndpointCache, openEndpointCache } from './endpoints/cache.ts';
import { type DisabledEvents, openDisabledEvents } from './endpoints/disabled-events.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import type { Endpoints, Revisions } from './endpoints/store.ts';
import type { LoggedBatch } from './log/batch.ts';
import { type LogPoint, type Offsets, openOffsets } from './log/offsets.ts';
import { openLogReader } from './log/reader.ts';
import { openWindows } from './log/window.ts';
import { openMatch } from './matching/match.ts';
import { openMetrics, type WebhookMetrics } from './metrics.ts';
import { type Claim, type Claims, openClaims } from './owning/claims.ts';
import { openOwnership } from './owning/ownership.ts';
import { openReplicas } from './owning/replicas.ts';
import type { Vault } from './secrets/vault.ts';
import type { Send } from './sending/send.ts';
import { openLimiter } from './tools/limiter.ts';
import { openRetry } from './tools/retry.ts';

export interface PipelineOptions {
  bus: Bus;
  store: Store;
  endpoints: Endpoints;
  revisions: Revisions;
  vault: Vault;
  send: Send;
  /** Fires when what is still in flight is given up. */
  signal: AbortSignal;
  inFlightMax: number;
  /** How many endpoints this replica remembers; beyond that it forgets those that it has not needed for longest. */
  remembered: { endpoints: number; subscriptions: number };
  metrics: Pick<Metrics, 'registry'>;
  /** Undefined where nothing is traced. */
  tracing: Tracing | undefined;
  log: Log;
  /** Makes streams again, should the server have lost them. */
  ensure: () => Promise<void>;
}

export interface Pipeline extends AsyncDisposable {
  cache: EndpointCache;
  attemptLog: AttemptLog;
  disabledEvents: DisabledEvents;
  metrics: WebhookMetrics;
  claims: Claims;
  offsets: Offsets;
  stream: () => LogStream;
  /** Throws where this replica cannot read what is to be delivered. */
  checkReading: () => void;
  /** The endpoint has changed: said to this replica and all others. */
  tellChanged: (endpoint: Pick<Endpoint, '_id' | 'integration'>) => void;
}

/** Which making of the log sequences are of, and where it ended when this replica looked last. */
export interface LogStream {
  id: string;
  firstSequence: number;
  lastSequence: number;
}

/** Work on failing endpoints, before it is due: healthy ones must not feel it. */
const failureLimits = { max: 4, patienceMs: 500 };
/** What hangs at a handover stays with the old owner; what does not ends within this time. */
const handoverMs = 500;
const handoverPollMs = 10;

export async function startPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { bus, store, endpoints, revisions, vault, send, inFlightMax, remembered, tracing, log } = options;
  await using starting = new AsyncDisposableStack();
  const stream = openLogStream(bus);
  await stream.look();
  const stopping = new AbortController();
  const retry = openRetry(log, options.signal);
  const retryUntilStop = openRetry(log, stopping.signal);

  const replicas = starting.use(openReplicas(bus));
  const attemptLog = starting.use(openAttemptLog(bus, log, replicas.self));
  const cache = openEndpointCache(endpoints, vault, remembered.endpoints);
  const disabledEvents = openDisabledEvents({ endpoints, revisions, bus, log });
  const claims = openClaims({ store, self: replicas.self, stream: () => stream.look() });
  const offsets = await openOffsets(store, stream.facts);
  const windows = openWindows({ bus, log });
  const owned = new Map<number, Claim>();
  const readThrough = (partition: number): number =>
    reader.readThrough(partition) ?? owned.get(partition)?.floor ?? 0;

  const metrics = openMetrics(options.metrics.registry, {
    inFlight: () => scheduler.inFlight,
    waiting: () => scheduler.waiting,
    behind: () => progress.behind,
    behindForMs: () => progress.behindForMs,
    partitions: () => owned.size,
    endpoints: () => integrations.endpoints,
    disabled: () => endpoints.countDisabled(),
  });

  const tellChanged = ({ _id, integration }: Pick<Endpoint, '_id' | 'integration'>): void => {
    cache.forget(_id);
    bus.broadcast(endpointChangedSubject, _id, {
      replica: replicas.self,
      [requestHeaders.integration]: integration,
    });
  };
  const recorder = openRecorder({
    endpoints,
    limit: openLimiter(failureLimits),
    tellChanged,
    announce: disabledEvents.announce,
    metrics,
  });
  /** It was in flight when the partition was handed over. A next owner that has not read the offset yet finds it done. */
  const tellDelivered = async ({ integration, id }: EndpointQueue, point: LogPoint): Promise<void> => {
    await offsets.delivered(integration, id, point).catch(noted(log, id));
    bus.broadcast(deliveredSubject, JSON.stringify([integration, id, point.sequence, point.index]));
  };
  const deliver = openDeliver({
    send,
    cache,
    recorder,
    report: openReport(log, attemptLog, metrics),
    missedOf: (queue) => integrations.missedOf(queue),
    onRecorded: (endpoint) => integrations.adopt(endpoint),
    onEnd(queue, point, how) {
      if (how === 'unstored') progress.hurry(queue);
      if (how === 'done' && queue.isEnded) void tellDelivered(queue, point);
    },
    mayBegin: () => ownership.isSure,
    retry,
    signal: options.signal,
    log,
  });
  const scheduler = openScheduler({
    inFlightMax,
    mayBegin: () => ownership.isSure,
    deliver,
    load(queue, sequence) {
      const window = integrations.get(queue.integration)?.window;
      if (window === undefined) return;
      retryUntilStop('reading the log', () =>
        loadInTurn(() => window.load(sequence), queue.integration),
      ).then(
        () => scheduler.wake(queue),
        (error: unknown) => log.debug({ err: error }, 'the log is not read, as the process stops'),
      );
    },
  });
  const loadInTurn = openLimiter(loadLimits);
  const wake = (queue: EndpointQueue): void => {
    progress.touch(queue);
    scheduler.wake(queue);
  };
  const integrations = openIntegrations({
    revisions,
    endpoints,
    windows,
    match: openMatch(),
    readThrough,
    partitionOf,
    owns: (partition) => owned.has(partition),
    wake,
    stream: stream.facts,
    endpointsMax: remembered.subscriptions,
    retry: retryUntilStop,
    log,
  });
  const take = async (batches: readonly LoggedBatch[]): Promise<void> => {
    const spans = batches.map((batch) => {
      const span = tracing?.begin(spanOf(batch));
      batch.traceparent = span?.traceparent ?? batch.traceparent;
      return span;
    });
    const [first] = batches;
    try {
      await integrations.take(batches);
      metrics.read(batches, first === undefined ? 0 : (Date.now() - first.storedAt.getTime()) / 1000);
    } finally {
      for (const span of spans) span?.end();
    }
  };
  const reader = openLogReader({
    bus,
    take,
    async isSameStream() {
      const { id } = stream.facts();
      await stream.look();
      const isSame = id === stream.facts().id;
      if (!isSame) ownership.beginAnew();
      return isSame;
    },
    ensure: options.ensure,
    log,
  });
  const progress = openProgress({
    self: replicas.self,
    integrations,
    claims,
    offsets,
    owned,
    readThrough,
    firstSequence: () => stream.facts().firstSequence,
    onLost: openLost(log, metrics),
    isSure: () => ownership.isSure,
    log,
  });

  const lose = (lost: readonly Claim[]): void => {
    integrations.end(new Set(lost.map(({ partition }) => partition)));
    for (const { partition } of lost) owned.delete(partition);
  };
  const ownership = openOwnership({
    onAlive: (alive) => integrations.freeFrom((replica) => alive.includes(replica)),
    bus,
    replicas,
    claims,
    log,
    async onTaken(taken) {
      const behind = await offsets.ofPartitions(taken.map(({ partition }) => partition));
      for (const claim of taken) owned.set(claim.partition, claim);
      try {
        await integrations.begin(behind, fallenSilent(taken));
      } catch (error) {
        lose(taken);
        throw error;
      }
      await reader.add(new Map(taken.map(({ partition, floor }) => [partition, floor])));
    },
    async onReleased(released) {
      const partitions = new Set(released.map(({ partition }) => partition));
      const floors = await reader.remove(partitions);
      const ended = integrations.ofPartitions(partitions);
      const resume = pause(ended);
      let inFlight: readonly HandedOver[];
      try {
        await settled(ended);
        inFlight = await progress.handOver(ended, owned);
      } catch (error) {
        resume();
        await reader.add(floors);
        throw error;
      }
      integrations.end(partitions);
      // What has ended since; what ends later says so itself.
      const since = inFlight.filter(({ queue, point }) => queue.find(point) === undefined);
      await Promise.all(since.map(({ queue, point }) => tellDelivered(queue, point)));
      for (const partition of partitions) owned.delete(partition);
      return released.map((claim) => ({ ...claim, floor: floors.get(claim.partition) ?? claim.floor }));
    },
    onLost(lost) {
      lose(lost);
      void reader.remove(lost.map(({ partition }) => partition));
    },
  });

  const listening = listenForChanges(bus, replicas.self, { cache, integrations, log });
  starting.use(openPeriodicCheck(disabledEvents.sweep, unannounced(log)));
  starting.defer(() => disabledEvents.settled());
  starting.defer(() => scheduler.close());
  starting.use(reader);
  starting.use(progress);
  starting.use(ownership);
  starting.use(listening);
  // First of all: what is undelivered is another replica's before what is in flight here has ended.
  starting.defer(async () => {
    stopping.abort(new Error('the process stops'));
    await ownership.end().catch((error: unknown) => {
      log.warn(
        { err: error },
        'partitions could not be given back: another replica takes them in some seconds',
      );
    });
  });

  const running = starting.move();
  return {
    cache,
    attemptLog,
    disabledEvents,
    metrics,
    claims,
    offsets,
    stream: stream.facts,
    tellChanged(endpoint) {
      tellChanged(endpoint);
      void integrations.refresh(endpoint.integration, endpoint._id).catch(noted(log, endpoint._id));
    },
    checkReading() {
      const failingForMs = Math.max(reader.failingForMs, ownership.failingForMs);
      if (failingForMs <= unreadMs) return;
      throw new Failure('unavailable', `${eventBatchesStream} of NATS is not read; the log says why.`, {
        retryAfterSeconds: 2,
      });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const fallenSilent = (taken: readonly Claim[]): number[] =>
  taken.flatMap(({ partition, isOfSilent }) => (isOfSilent ? [partition] : []));

/** A stream may be without a leader, or a replica reconnect, for this long before readiness says so. */
const unreadMs = 10_000;
/** Of integrations that are behind; one reads at a time. */
const loadLimits = { max: 4, perIntegrationMax: 1 };

function openLogStream(bus: Pick<Bus, 'patiently' | 'streamFacts'>) {
  let facts: LogStream = { id: '', firstSequence: 0, lastSequence: 0 };
  return {
    facts: (): LogStream => facts,
    async look(): Promise<LogStream> {
      const { madeAt, firstSequence, lastSequence } = await bus.patiently(
        `stream ${eventBatchesStream}`,
        () => bus.streamFacts(eventBatchesStream),
      );
      facts = { id: madeAt.toISOString(), firstSequence, lastSequence };
      return facts;
    },
  };
}

const openLost =
  (log: Log, metrics: WebhookMetrics) =>
  ({ id, integration }: EndpointQueue): void => {
    metrics.lost();
    log.error(
      { endpoint: id, integration },
      'the log dropped events before this endpoint had them: it goes on at the oldest that are left',
    );
  };

/** What dead replicas left unannounced. */
const unannounced = (log: Log) => ({ what: 'disablings that are not announced', everyMs: 500, log });

/** Nothing begins for these. */
function pause(integrations: readonly ActiveIntegration[]): () => void {
  const queues = integrations.flatMap((one) => [...one.queues.values()]);
  for (const queue of queues) queue.pauses += 1;
  return () => {
    for (const queue of queues) queue.pauses -= 1;
  };
}

const isIdle = ({ queues }: ActiveIntegration): boolean =>
  queues.values().every(({ inFlight }) => inFlight === 0);

async function settled(integrations: readonly ActiveIntegration[]): Promise<void> {
  const endMs = performance.now() + handoverMs;
  while (!integrations.every(isIdle) && performance.now() < endMs) await wait(handoverPollMs);
}

const spanOf = (batch: LoggedBatch): SpanStart => ({
  name: 'fan out',
  kind: 'consumer',
  parent: batch.traceparent,
  attributes: {
    'messaging.system': 'nats',
    'messaging.destination.name': eventBatchesStream,
    'sync.integration': batch.integration,
    'sync.events': batch.count,
  },
});
