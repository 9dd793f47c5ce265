// The wiring between the stream EVENT_BATCHES (the log) and the receivers:
//
//   EVENT_BATCHES ──▶ reader ──▶ integrations ──▶ endpoint queues ──▶ scheduler ──▶ attempt ──▶ receiver
//                        ▲       (one look-up of   (a cursor into      (fair among   │
//                        │     changed endpoints)   the window each)   integrations) ▼
//                    ownership                           │                        (failures) ─▶ webhook_endpoints
//                        ▲                               ▼                        attempt log ──▶ ATTEMPTS
//                        ▼                            progress ──▶ webhook_offsets (of endpoints that are behind),
//        webhook_partitions (claims, each with a first floor)      webhook_replicas (floors)
//
// One replica owns a partition of the log, and alone begins deliveries of its events. The owner gives the partition back when the owner
// stops, or when the assignment over the living replicas names another replica. An owner that is silent on NATS for 2.5 s or more
// (owning/silence.ts) loses the partition. The new owner reads webhook_offsets and webhook_replicas once. Its claim keeps the last
// stored floor as its first floor, and it begins there. So receivers get the events that the old owner delivered after that floor a
// second time (delivering/takeover.ts). After a silent owner, an endpoint whose caller set `inFlightMax` waits 10.5 s first, until no
// attempt of that owner can be in flight. Floors and offsets are stored with the term of the owner's claim: a floor that an old owner
// stores afterwards does not count, and its offset replaces none of a later term. No order of deliveries is promised.
//
//   a success   is stored only if it closes the circuit. After any other success only the floor moves past the event, or the offset
//               of an endpoint that is behind.
//   a failure   opens the circuit, and is stored in webhook_endpoints with the event's number of attempts and next time. Before
//               that no attempt at the endpoint begins. The event is the trial: it alone is tried again, after 1, 5 and 30 s
//               (later if the receiver asks with Retry-After), then given up. The next trial: delivering/endpoint-queue.ts.
//               A failure does not count if another failure of the endpoint was counted while its attempt was in flight.
//               It only uses up one of its event's four attempts, which the endpoint's offset stores. The event is due again
//               after its own 1, 5 or 30 s, and waits for the trial to end while the circuit is open.
//   the circuit is open from a registration, an enabling, a change of url or a counted failure to the next 2xx: one attempt at a time.
//               While it is closed, 8 attempts are in flight, or as many as the endpoint's caller asks for.
//   disabled    an endpoint is disabled by its caller, by ten counted failures in a row, or by a 410. Its undelivered
//               events are missed, until a replay or a recovery (endpoints/recovery.ts) sends them. The same update
//               notes the event `webhook.disabled`. If the replica dies before it publishes that event, another replica
//               publishes it.
//   a hand-back begins no attempt, waits 500 ms for those in flight, cuts the others off, and stores the floor and the offset of each
//               endpoint with an undelivered event. An attempt that is cut off is not used up: the new owner makes it again, and
//               a receiver that is slower than 500 ms may get the event twice.
//   unheard     a replica that has not heard itself on NATS for 2 s begins no attempt, until it hears itself again and
//               MongoDB confirms its claims.
//   MongoDB     if MongoDB is away, deliveries go on, except at an endpoint whose failure waits to be stored. If an owner dies
//               meanwhile, the next owner delivers the events again that were delivered since.
//   killed      a killed process loses the attempt log of its last 0.1 s. The next owner delivers the events after the
//               floor again.
//
//   step by step                               docs/architecture.md, The life of a delivery
//   how a push becomes an event batch          docs/architecture.md, The life of a push
//   which collection holds what                docs/architecture.md, What is durable
//   which event is for which endpoint          matching/match.ts
//   what an attempt means, and the schedule    delivering/delivery-state.ts
//   what disables and enables an endpoint      endpoints/endpoint.ts
//   how owners learn of a changed endpoint     delivering/integrations.ts (revisions), delivering/broadcasts.ts (sooner)
//   a log that was created again or restored   log/stream.ts, log/restores.ts; delivering/endpoint-queue.ts (trials)
//   what a test does, outside of all this      api/test-delivery.ts
import { Failure, eventBatchesStream } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { Resources } from '@integration-sync/runtime/resources';
import { openRetry, type Retry } from '@integration-sync/runtime/retry';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { SpanStart } from '@integration-sync/runtime/tracing';
import { openErasing } from './delivering/answers.ts';
import { openAttemptLog } from './delivering/attempt-log.ts';
import { type Changed, listenForChanges, logged, openTellChanged } from './delivering/broadcasts.ts';
import { openReport } from './delivering/attempt-report.ts';
import { Attempts } from './delivering/attempt.ts';
import type { EndpointQueue } from './delivering/endpoint-queue.ts';
import { Integrations, type ActiveIntegrations } from './delivering/integrations.ts';
import { Progress } from './delivering/progress.ts';
import { Scheduler, type Work } from './delivering/scheduler.ts';
import { openTakeover } from './delivering/takeover.ts';
import { openEndpointCache } from './endpoints/cache.ts';
import { openDisabledEvents } from './endpoints/disabled-events.ts';
import type { Endpoints, Revisions } from './endpoints/store.ts';
import type { StreamReset } from './endpoints/stream-reset.ts';
import { readBatch, type LoggedBatch } from './log/batch.ts';
import { openOffsets } from './log/offsets.ts';
import { LogReader } from './log/reader.ts';
import { LogStream } from './log/stream.ts';
import { Windows } from './log/window.ts';
import { openGauges, openMetrics, type WebhookMetrics } from './metrics.ts';
import { Claims } from './owning/claims.ts';
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
  streamReset: Pick<StreamReset, 'lower'>;
  vault: Vault;
  send: Send;
  /** The id of this replica; random, except in tests. */
  self?: string;
  /** Ends writes of outcomes that wait for MongoDB. */
  signal: AbortSignal;
  log: Log;
  /** Creates streams again that nats-server has lost. */
  ensure: () => Promise<void>;
}

/** Chunks of the log that are read concurrently, one at a time for an integration. */
const loadLimits = { max: 4, perKeyMax: 1 };
/** `/readyz` fails once this replica has failed for this time to read the log, or to check which partitions it owns. */
const unreadMs = 10_000;

export async function startPipeline(options: PipelineOptions) {
  const { bus, revisions, log } = options;
  await using starting = new AsyncDisposableStack();
  const stopping = new AbortController();
  const parts = await openParts(options, starting);
  const { replicas, cache, disabledEvents } = parts;
  const delivering = startDelivering(options, parts, openRetry(log, stopping.signal));
  const { integrations, scheduler, reader, progress, ownership } = delivering;
  // A replica may have died before it announced that an endpoint is disabled.
  const sweeping = { what: 'unannounced disablings', everyMs: 500, log };
  starting.use(openPeriodicCheck(disabledEvents.sweep, sweeping));
  starting.defer(() => disabledEvents.settled());
  starting.defer(() => scheduler.close());
  starting.use(reader);
  starting.use(progress);
  starting.use(ownership);
  starting.use(listenForChanges(bus, replicas.self, cache, integrations, log));
  // Disposal begins here.
  starting.defer(async () => {
    stopping.abort(new Error('the process stops'));
    await ownership.end().catch((error: unknown) => {
      log.warn(
        { err: error },
        'partitions could not be given back: another replica takes them in some seconds',
      );
    });
  });

  const changed: Changed = async (endpoint) => {
    await revisions.changed(endpoint.integration);
    parts.tellChanged(endpoint);
    void integrations.refresh(endpoint.integration, endpoint._id).catch(logged(log, endpoint._id));
  };
  const running = starting.move();
  return {
    ...parts,
    changed,
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
    attemptLog: starting.use(openAttemptLog(bus, log, replicas.self)),
    disabledEvents: openDisabledEvents(endpoints, revisions, bus, log),
    metrics: openMetrics(options.metrics.registry),
    tellChanged: openTellChanged(bus, replicas.self, cache),
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
  const integrations = new Integrations({
    active,
    owned,
    revisions,
    endpoints,
    windows: new Windows({ bus, read: (stored) => readBatch(stored, log) }),
    wake(queue) {
      progress.touch(queue);
      scheduler.wake(queue);
    },
    isFollowed: (integration) => progress.follows(integration),
    onBehind: (queue) => progress.touchBehind(queue),
    // Beyond the bound the least recently needed queues leave memory, but no queue with an undelivered event.
    endpointsMax: config.WEBHOOK_SUBSCRIPTIONS_REMEMBERED,
    retry: retryUntilStop,
    log,
  });
  const forgetErased = openErasing({ endpoints, forgetAnswers: attemptLog.forgetAnswers });
  const intake = openTake(options, integrations, metrics);
  const take = async (batches: readonly LoggedBatch[]): Promise<void> => {
    // Before the floor may pass the batches: the owner after a killed one takes them again.
    await retryUntilStop('removing the answers of receivers', () => forgetErased(batches));
    await intake(batches);
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
  scheduler.start({
    deliver: (queue, delivery, event) => attempts.make(queue, delivery, event),
    load: openLoad(scheduler, retryUntilStop, log),
  });
  const takeover = openTakeover(integrations, progress, reader, log);
  const { lostToOthers } = metrics;
  const owning = { bus, replicas, claims, offsets, owned, stream, lostToOthers, log };
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

/** Passes on event batches that the reader has read together, with a trace span and the metrics for them. */
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
