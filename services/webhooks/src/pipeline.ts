// Everything between the event stream and the receivers, put together:
//
//                          the shared way
//   EVENTS ──▶ fan-out ──▶ DELIVERIES ──────▶ intake ──▶ lanes ──▶ deliver ──▶ receiver
//                 │                            ▲ │                   │
//                 └──────▶ DELIVERIES ──▶ backlogs                   │
//                          an integration's own  │                   │
//                                                ▼                   ▼ a failure
//                                              HELD ◀───────────────────
//                                                │
//                                                └──▶ owner ──▶ lanes ──▶ deliver ──▶ receiver
//
// No integration waits for another's burst: its deliveries leave the shared way as soon as they are many
// (ways.ts), the waiting ones in memory and those in flight are shared by integrations (lanes.ts).
import { bundlesStream } from '@integration-sync/contracts';
import type { Broadcast, Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import type { Tracing } from '@integration-sync/runtime/tracing';
import { openAttemptLog, type AttemptLog } from './delivering/attempt-log.ts';
import { openDeliver } from './delivering/deliver.ts';
import { openLanes } from './delivering/lanes.ts';
import { openRecorder } from './delivering/recorder.ts';
import { openReport } from './delivering/report.ts';
import { openEndpointCache, type EndpointCache } from './endpoints/cache.ts';
import { openDisabledEvents, type DisabledEvents } from './endpoints/disabled-events.ts';
import type { Revisions } from './endpoints/revisions.ts';
import type { Endpoints } from './endpoints/store.ts';
import { openFanout } from './fanout/fanout.ts';
import { openSubscribers } from './fanout/subscribers.ts';
import { readUnbundled } from './fanout/unbundled.ts';
import { openBacklogs } from './intake/backlogs.ts';
import { openIntake } from './intake/intake.ts';
import { openMetrics, type WebhookMetrics } from './metrics.ts';
import { openHeld, type Held } from './retrying/held.ts';
import { openOwners } from './retrying/owners.ts';
import { openReplicas } from './retrying/replicas.ts';
import { openSetAside } from './retrying/set-aside.ts';
import type { Vault } from './secrets/vault.ts';
import type { Send } from './sending/send.ts';
import { openLeases } from './streams/leases.ts';
import { openReadingCheck } from './streams/reading.ts';
import { deliverConsumer, deliveriesStream, fanoutConsumer, heldStream } from './streams/streams.ts';
import { openCounting } from './streams/ways.ts';
import { openLimiter } from './tools/limiter.ts';
import { openRetry } from './tools/retry.ts';

export interface PipelineOptions {
  bus: Bus;
  endpoints: Endpoints;
  revisions: Revisions;
  vault: Vault;
  send: Send;
  /** Fires when what is still in flight is given up. */
  signal: AbortSignal;
  inFlightMax: number;
  metrics: Pick<Metrics, 'registry'>;
  /** Undefined where nothing is traced. */
  tracing: Tracing | undefined;
  log: Log;
  /** Makes streams and consumers again, should the server have lost them. */
  ensure: () => Promise<void>;
  /** Whether events may come without a bundle (unbundled.ts). */
  unbundledEvents: boolean;
}

export interface Pipeline extends AsyncDisposable {
  cache: EndpointCache;
  held: Held;
  attemptLog: AttemptLog;
  disabledEvents: DisabledEvents;
  metrics: WebhookMetrics;
  /** Throws where this replica cannot read what is to be delivered. */
  checkReading: () => void;
  /** The endpoint has changed: said to this replica and all others. */
  tellChanged: (endpointId: string) => void;
}

const changedSubject = 'webhooks.endpoint.changed';
/** What is under way over all replicas bounds how many wait here (streams.ts). */
const bundlesAhead = 64;
/** Parcels that nats-server sends ahead. Until this replica takes them it has no lease, so they must not wait long. */
const parcelsAhead = { min: 2, max: 8, perInFlight: 1 / 128 };
/** What a replica takes and cannot begin with is kept from the others. */
const waitingPerInFlight = 2;
const waitingMax = 1_000;
/** What is done about failing endpoints, before it is due: healthy ones must not feel it. */
const failureLimits = { max: 4, patienceMs: 500 };
const sweepMs = 500;

export function startPipeline(options: PipelineOptions): Pipeline {
  const { bus, endpoints, send, inFlightMax, tracing, log } = options;
  const closing = new AsyncDisposableStack();

  const replicas = closing.use(openReplicas(bus));
  const attemptLog = closing.use(openAttemptLog(bus, log, replicas.self));
  const held = openHeld(bus);
  const cache = openEndpointCache(endpoints, options.vault);
  const lanes = closing.use(
    openLanes({ inFlightMax, waitingMax: Math.min(inFlightMax * waitingPerInFlight, waitingMax) }),
  );
  const leases = closing.use(openLeases());
  const metrics = openMetrics(options.metrics.registry, {
    inFlight: () => lanes.inFlight,
    waiting: () => lanes.waiting,
    lanes: () => lanes.open,
    backlogs: () => backlogs.count,
    owners: () => owners.count,
    disabled: () => endpoints.countDisabled(),
    held: async () => (await bus.streamFacts(heldStream)).messages,
  });
  const disabledEvents = openDisabledEvents({ endpoints, revisions: options.revisions, bus, log });
  const tellChanged = (endpointId: string): void => {
    cache.forget(endpointId);
    owners.wake(endpointId);
    bus.broadcast(changedSubject, endpointId, { replica: replicas.self });
  };

  const limit = openLimiter(failureLimits);
  const recorder = openRecorder({
    endpoints,
    limit,
    tellChanged,
    announce: disabledEvents.announce,
    metrics,
  });
  const report = openReport(log, attemptLog, metrics);
  const retry = openRetry(log, options.signal);
  const deliver = openDeliver({ send, cache, recorder, held, report, retry });
  const owners = openOwners({ endpoints, held, cache, lanes, deliver, replicas, tellChanged, limit, log });
  const stopping = new AbortController();
  const retryUntilStop = openRetry(log, stopping.signal);
  const setAside = openSetAside({
    held,
    owners,
    metrics,
    retry: retryUntilStop,
    signal: stopping.signal,
    log,
  });
  const onMessage = openIntake({
    cache,
    lanes,
    leases,
    setAside,
    owners,
    deliver,
    metrics,
    retry: retryUntilStop,
    log,
  });
  const { ensure } = options;
  const subscribers = openSubscribers(options.revisions, endpoints);
  const countUnsettled = openCounting(bus);
  const onBacklog = (): void => backlogs.look();
  const fanout = openFanout({ subscribers, bus, leases, metrics, countUnsettled, onBacklog, tracing, log });

  const onChanged = ({ body, headers }: Broadcast): void => {
    if (headers.get('replica') === replicas.self) return;
    const id = Buffer.from(body).toString();
    cache.forget(id);
    owners.wake(id);
  };
  const onAnyChanged = (): void => {
    cache.forgetAll();
    owners.wakeAll();
  };
  closing.use(bus.listen(changedSubject, onChanged, onAnyChanged));
  // From here on upwards it stops: nothing more is taken; what was taken is finished; the rest is handed back.
  closing.defer(() => leases.giveBackAll());
  closing.defer(() => setAside.settled());
  closing.defer(() => disabledEvents.settled());
  closing.defer(async () => void (await Promise.all([owners.close(), lanes.close()])));
  closing.defer(() => fanout.settled());
  closing.use(sweeping([owners.sweep, disabledEvents.sweep], log));
  const { min, max, perInFlight } = parcelsAhead;
  const ahead = Math.max(min, Math.min(max, Math.floor(inFlightMax * perInFlight)));
  const reading = closing.use(
    bus.consume(bundlesStream, fanoutConsumer.name, { ahead: bundlesAhead, onMessage: fanout.take, ensure }),
  );
  if (options.unbundledEvents) closing.use(readUnbundled({ bus, take: fanout.take, log }));
  const delivering = closing.use(
    bus.consume(deliveriesStream, deliverConsumer.name, { ahead, onMessage, ensure }),
  );
  const checkReading = openReadingCheck({
    [bundlesStream]: reading,
    [deliveriesStream]: delivering,
  });
  // What can wait leaves the processor to the fan-out, which others wait for.
  const onBacklogMessage = async (message: StreamMessage): Promise<void> => {
    await onMessage(message);
    await fanout.keptUp();
  };
  const backlogs = closing.use(
    openBacklogs({ bus, countUnsettled, onMessage: onBacklogMessage, ensure, log }),
  );
  // First of all: a reader may wait for what would be tried for as long as the process lives.
  closing.defer(() => stopping.abort(new Error('the process stops')));

  return {
    cache,
    held,
    attemptLog,
    disabledEvents,
    metrics,
    checkReading,
    tellChanged,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Looks after what dead replicas left. One sweep at a time. */
function sweeping(sweeps: readonly (() => Promise<void>)[], log: Log): AsyncDisposable {
  let sweepOfAll = Promise.resolve();
  let busy = false;
  const sweep = async (): Promise<void> => {
    try {
      for (const one of sweeps) await one();
    } catch (error) {
      log.debug({ err: error }, 'sweeping failed, trying again');
    }
    busy = false;
  };
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    sweepOfAll = sweep();
  }, sweepMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweepOfAll;
    },
  };
}
