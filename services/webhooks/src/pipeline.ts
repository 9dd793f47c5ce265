// The wiring between the stream EVENT_BATCHES (the log) and the receivers. One replica owns a partition of the log (owning/), and alone
// delivers its events:
//
//   EVENT_BATCHES ──▶ LogReader ──▶ Integrations ──▶ EndpointQueue ──▶ Scheduler ──▶ Attempts ──▶ receiver
//                                                          │                            └──▶ webhook_endpoints (failures, circuit, trials), ATTEMPTS
//                                                          └──▶ Progress ──▶ webhook_offsets, webhook_replicas (floors)
//
//   sequences    floors, offsets and trials are points of EVENT_BATCHES: the sequence of a batch, the index of an event. Cutoffs, after
//                which an endpoint gets events, count in EVENTS: a batch names the sequence of its last event there (matching/cutoff.ts).
//   the order    of events is in endpoint-queue.ts, that of endpoints and integrations in scheduler.ts.
//   replays      and recoveries add batches for one endpoint to EVENT_BATCHES. The reader reads these like others; cutoffs and kinds of
//                events do not apply to them (api/replay-candidates.ts).
//   a new owner  takes failures, circuit and trials (failed events and their attempts) from webhook_endpoints, and begins at the offset of
//                an endpoint that is behind, else at the floor (takeover.ts, owned-integrations.ts). So receivers get events again that
//                were delivered after the floor. No order of deliveries is promised.
import { Failure, eventBatchesStream } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Resources } from '@integration-sync/runtime/resources';
import { openRetry, type Retry } from '@integration-sync/runtime/retry';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { SpanStart } from '@integration-sync/runtime/tracing';
import { openAttemptLog } from './delivering/attempt-log.ts';
import { listenForChanges, openChanged } from './delivering/endpoint-changes.ts';
import { openReport } from './delivering/attempt-report.ts';
import { Attempts } from './delivering/attempt.ts';
import { openErasings } from './delivering/erasings.ts';
import type { EndpointQueue } from './delivering/endpoint-queue.ts';
import { Integrations, type ActiveIntegrations } from './delivering/owned-integrations.ts';
import { Progress } from './delivering/progress.ts';
import { Scheduler, type Work } from './delivering/scheduler.ts';
import { openTakeover } from './delivering/takeover.ts';
import { openEndpointCache } from './endpoints/cache.ts';
import { openDisabledEvents } from './endpoints/disabled-events.ts';
import type { Endpoints, Revisions } from './endpoints/endpoint-store.ts';
import type { StreamReset } from './endpoints/stream-reset.ts';
import { readBatch, type LoggedBatch } from './log/logged-batch.ts';
import { openOffsets } from './log/offsets.ts';
import { LogReader } from './log/log-reader.ts';
import { LogStream } from './log/stream.ts';
import { Windows } from './log/window.ts';
import { openGauges, openMetrics, type WebhookMetrics } from './metrics.ts';
import { Claims } from './owning/partition-claims.ts';
import { OwnedPartitions, Ownership } from './owning/ownership.ts';
import { openReplicas } from './owning/replicas.ts';
import type { Vault } from './secrets/vault.ts';
import type { Send } from './sending/send.ts';

interface PipelineOptions extends Pick<Resources, 'bus' | 'store' | 'metrics' | 'tracing' | 'addNotes'> {
  config: Record<
    'WEBHOOK_IN_FLIGHT_MAX' | 'WEBHOOK_ENDPOINTS_REMEMBERED' | 'WEBHOOK_SUBSCRIPTIONS_REMEMBERED',
    number
  >;
  endpoints: Endpoints;
  revisions: Revisions;
  streamReset: Pick<StreamReset, 'lower' | 'forgetOther'>;
  vault: Vault;
  send: Send;
  /** The id of this replica; random, except in tests. */
  self?: string;
  /** Aborts the retried writes of attempts' outcomes, which may wait for MongoDB. */
  signal: AbortSignal;
  log: Log;
  /** Creates the streams that nats-server has lost again. */
  ensure: () => Promise<void>;
}

/** How many chunks of the log are read concurrently, one at a time for each integration. */
const loadLimits = { max: 4, perKeyMax: 1 };
/** `/readyz` fails once this replica has failed for this time to read the log, or to check which partitions it owns. */
const unreadMs = 10_000;

export async function startPipeline(options: PipelineOptions) {
  const { bus, revisions, log } = options;
  await using starting = new AsyncDisposableStack();
  const stopping = new AbortController();
  const parts = await openParts(options, starting);
  const { cache } = parts;
  const delivering = startDelivering(options, parts, openRetry(log, stopping.signal));
  const { integrations, scheduler, reader, progress, ownership } = delivering;
  starting.defer(() => scheduler.close());
  starting.use(reader);
  starting.use(progress);
  starting.use(listenForChanges(bus, cache, integrations, log));
  starting.use(ownership);
  // Disposal begins here. The scheduler begins no delivery from now on, also if the partitions cannot be released.
  starting.defer(() => {
    stopping.abort(new Error('the process stops'));
    void scheduler.close();
  });

  const running = starting.move();
  return {
    ...parts,
    changed: openChanged(bus, revisions),
    /** Throws if this replica has failed for 10 s to read the log or to check its partitions. */
    checkReading: (): void => {
      if (Math.max(reader.failingForMs, ownership.failingForMs) <= unreadMs) return;
      const detail = `The stream ${eventBatchesStream} is not read; log lines of webhooks say why.`;
      throw new Failure('unavailable', detail, { retryAfterSeconds: 2 });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Opens the parts that both the API and the deliveries use. */
async function openParts(options: PipelineOptions, starting: AsyncDisposableStack) {
  const { bus, store, config, endpoints, revisions, vault, log } = options;
  const stream = new LogStream({ bus, store, beforeReading: options.streamReset.lower, log });
  await stream.refresh();
  options.addNotes(() => stream.restores.notes());
  const replicas = starting.use(openReplicas(bus, options.self));
  const offsets = await openOffsets(store, stream);
  const cache = openEndpointCache(endpoints, vault, config.WEBHOOK_ENDPOINTS_REMEMBERED);
  return {
    stream,
    replicas,
    owned: new OwnedPartitions(replicas),
    claims: new Claims(store, replicas.self, stream),
    offsets,
    cache,
    attemptLog: starting.use(openAttemptLog(bus, endpoints, log, replicas.self)),
    disabledEvents: starting.use(openDisabledEvents(endpoints, revisions, bus, log)),
    metrics: openMetrics(options.metrics.registry),
  };
}

type Parts = Awaited<ReturnType<typeof openParts>>;

function startDelivering(options: PipelineOptions, parts: Parts, retryUntilStop: Retry) {
  const { bus, config, endpoints, revisions, send, ensure, signal, log } = options;
  const { stream, replicas, owned, claims, offsets, cache, attemptLog, metrics } = parts;
  const mayBegin = (): boolean => owned.isSure;
  const active: ActiveIntegrations = new Map();
  const onDropped = ({ id, integration }: EndpointQueue): void => {
    metrics.lost();
    log.error(
      { endpoint: id, integration },
      'EVENT_BATCHES dropped events before this endpoint had them: deliveries go on at the oldest event that is left',
    );
  };

  const scheduler = new Scheduler({ inFlightMax: config.WEBHOOK_IN_FLIGHT_MAX, mayBegin });
  const progress = new Progress({ active, owned, claims, offsets, stream, onDropped, log });
  const wake = (queue: EndpointQueue): void => {
    progress.touch(queue);
    scheduler.wake(queue);
  };
  const integrations = new Integrations({
    active,
    owned,
    revisions,
    endpoints,
    windows: new Windows({ bus, read: (stored) => readBatch(stored, log) }),
    correctCutoffs: options.streamReset.forgetOther,
    wake,
    isFollowed: (integration) => progress.follows(integration),
    onBehind: (queue) => progress.touchBehind(queue),
    // Beyond this bound the least recently used endpoint queues are removed from memory, except queues with an undelivered event.
    endpointsMax: config.WEBHOOK_SUBSCRIPTIONS_REMEMBERED,
    retry: retryUntilStop,
    log,
  });
  const { forgetAnswers } = attemptLog;
  const erasings = openErasings({ owned, endpoints, forgetAnswers, retry: retryUntilStop, log });
  const intake = openTake(options, integrations, metrics);
  const take = (batches: readonly LoggedBatch[]): Promise<void> => {
    erasings.begin(batches);
    return intake(batches);
  };
  const reader = new LogReader({ bus, stream, take, ensure, log });
  const { announce } = parts.disabledEvents;
  const attempts = new Attempts({
    send,
    cache,
    endpoints,
    report: openReport(log, attemptLog, metrics),
    onRead: (queue, found) => integrations.onRead(queue, found),
    announce,
    metrics,
    storeSoon: (queue) => progress.storeSoon(queue),
    mayBegin,
    retry: openRetry(log, signal),
    log,
  });
  options.addNotes(() => attempts.notes());
  scheduler.start({
    deliver: (queue, delivery, event) => attempts.make(queue, delivery, event),
    load: openLoad(scheduler, retryUntilStop, log),
  });
  const takeover = openTakeover(integrations, progress, reader, erasings, wake, log);
  const { lostToOthers } = metrics;
  const forgetEndpoints = cache.forgetAll;
  const owning = { bus, replicas, claims, offsets, owned, stream, forgetEndpoints, lostToOthers, log };
  const ownership = new Ownership({ ...owning, changes: takeover });
  const gauged = { scheduler, progress, integrations, owned, replicas, endpoints, stream };
  openGauges(options.metrics.registry, gauged);
  return { integrations, scheduler, reader, progress, ownership };
}

function openLoad(scheduler: Scheduler, retry: Retry, log: Log): Work['load'] {
  const inTurn = openSemaphore(loadLimits).run;
  return (queue, sequence) => {
    retry('reading EVENT_BATCHES', () => inTurn(() => queue.window.load(sequence), queue.integration)).then(
      () => scheduler.wake(queue),
      (error: unknown) =>
        log.debug({ err: error }, 'a chunk of EVENT_BATCHES is not read, because the process stops'),
    );
  };
}

/** Passes event batches that the log reader has read together on to the integrations, with a trace span and metrics. */
const openTake =
  ({ tracing }: Pick<PipelineOptions, 'tracing'>, integrations: Integrations, metrics: WebhookMetrics) =>
  async (batches: readonly LoggedBatch[]): Promise<void> => {
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
