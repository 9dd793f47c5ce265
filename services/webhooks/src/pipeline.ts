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
import { endpointChangedSubject } from '@integration-sync/contracts';
import type { Broadcast, Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import type { Tracing } from '@integration-sync/runtime/tracing';
import { openAttemptLog, type AttemptLog } from './delivering/attempt-log.ts';
import { openDeliver, type Deliver } from './delivering/deliver.ts';
import { openLanes, type Lanes } from './delivering/lanes.ts';
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
import { startReading } from './partitions/start-reading.ts';
import { openHeld, type Held } from './retrying/held.ts';
import { openOwners, type Owners } from './retrying/owners.ts';
import { openReplicas, type Replicas } from './retrying/replicas.ts';
import { openSetAside } from './retrying/set-aside.ts';
import type { Vault } from './secrets/vault.ts';
import type { Send } from './sending/send.ts';
import { openLeases, type Leases } from './streams/leases.ts';
import { heldStream } from './streams/streams.ts';
import { openCounting } from './streams/ways.ts';
import { openLimiter } from './tools/limiter.ts';
import { openRetry } from './tools/retry.ts';
import { startSweeping } from './tools/sweeping.ts';

export interface PipelineOptions {
  bus: Bus;
  endpoints: Endpoints;
  revisions: Revisions;
  vault: Vault;
  send: Send;
  /** Fires when what is still in flight is given up. */
  signal: AbortSignal;
  inFlightMax: number;
  /** How many this replica remembers; beyond that it forgets those that it has not needed for longest. */
  remembered: { endpoints: number; subscriptions: number };
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

/** Parcels that a replica takes and cannot begin are kept from the others. */
const waitingPerInFlight = 2;
const waitingMax = 1_000;
/** Work on failing endpoints, before it is due: healthy ones must not feel it. */
const failureLimits = { max: 4, patienceMs: 500 };

export function startPipeline(options: PipelineOptions): Pipeline {
  const { bus, endpoints, log } = options;
  const closing = new AsyncDisposableStack();
  const state = openState(options, closing);
  const { replicas, attemptLog, held, cache, lanes, bundleLeases, leases, disabledEvents } = state;
  const metrics = openMetrics(options.metrics.registry, {
    inFlight: () => lanes.inFlight,
    waiting: () => lanes.waiting,
    lanes: () => lanes.open,
    backlogs: () => backlogs.count,
    owners: () => owners.count,
    disabled: () => endpoints.countDisabled(),
    held: async () => (await bus.streamFacts(heldStream)).messages,
    partitions: () => partitions.number,
    partitionsRead: () => partitions.read,
    partitionsWaiting: () => partitions.waiting(),
  });
  const { deliver, owners, tellChanged } = openSending(options, state, metrics);
  const stopping = new AbortController();
  const { signal } = stopping;
  const retry = openRetry(log, signal);
  const setAside = openSetAside({ ...state, owners, metrics, retry, signal, log });
  const onMessage = openIntake({ ...state, setAside, owners, deliver, metrics, retry, log });
  const subscribers = openSubscribers(options.revisions, endpoints, options.remembered.subscriptions);
  const countUnsettled = openCounting(bus);
  const onBacklog = (): void => backlogs.look();
  const fanout = openFanout({
    ...options, subscribers, leases: bundleLeases, metrics, countUnsettled, onBacklog, retry, signal,
  }); // prettier-ignore

  closing.use(listenForChanges(bus, replicas.self, cache, owners));
  // From here on upwards it stops: nothing more is taken; what was taken is finished; the rest is handed back.
  closing.defer(() => {
    bundleLeases.giveBackAll();
    leases.giveBackAll();
  });
  closing.defer(() => setAside.settled());
  closing.defer(() => disabledEvents.settled());
  closing.defer(async () => void (await Promise.all([owners.close(), lanes.close()])));
  closing.defer(() => fanout.settled());
  closing.use(startSweeping([owners.sweep, disabledEvents.sweep], log));
  if (options.unbundledEvents) closing.use(readUnbundled({ bus, take: fanout.take, log }));
  const { checkReading, partitions } = startReading({
    ...options,
    replicas,
    onBundle: fanout.take,
    onParcel: onMessage,
  });
  closing.use(partitions);
  // What can wait leaves the processor to the fan-out, which others wait for.
  const onBacklogMessage = async (message: StreamMessage): Promise<void> => {
    await onMessage(message);
    await fanout.keptUp();
  };
  const { ensure } = options;
  const backlogs = closing.use(
    openBacklogs({ bus, countUnsettled, onMessage: onBacklogMessage, ensure, ...partitions, log }),
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

/** What the stages of the pipeline share: what this replica remembers, holds and has under way. */
interface State {
  replicas: Replicas;
  attemptLog: AttemptLog;
  held: Held;
  cache: EndpointCache;
  lanes: Lanes;
  bundleLeases: Leases;
  /** On deliveries. */
  leases: Leases;
  disabledEvents: DisabledEvents;
}

function openState(
  { bus, endpoints, revisions, vault, inFlightMax, remembered, log }: PipelineOptions,
  closing: AsyncDisposableStack,
): State {
  const replicas = closing.use(openReplicas(bus));
  const attemptLog = closing.use(openAttemptLog(bus, log, replicas.self));
  return {
    replicas,
    attemptLog,
    held: openHeld(bus),
    cache: openEndpointCache(endpoints, vault, remembered.endpoints),
    lanes: closing.use(
      openLanes({ inFlightMax, waitingMax: Math.min(inFlightMax * waitingPerInFlight, waitingMax) }),
    ),
    bundleLeases: closing.use(openLeases({ inOrder: true })),
    leases: closing.use(openLeases()),
    disabledEvents: openDisabledEvents({ endpoints, revisions, bus, log }),
  };
}

interface Sending {
  deliver: Deliver;
  owners: Owners;
  tellChanged: (endpointId: string) => void;
}

/** From a delivery to what its attempt means for the endpoint. */
function openSending(
  { bus, endpoints, send, signal, log }: PipelineOptions,
  { replicas, attemptLog, held, cache, lanes, disabledEvents }: State,
  metrics: WebhookMetrics,
): Sending {
  const tellChanged = (endpointId: string): void => {
    cache.forget(endpointId);
    owners.wake(endpointId);
    bus.broadcast(endpointChangedSubject, endpointId, { replica: replicas.self });
  };
  const limit = openLimiter(failureLimits);
  const { announce } = disabledEvents;
  const recorder = openRecorder({ endpoints, limit, tellChanged, announce, metrics });
  const report = openReport(log, attemptLog, metrics);
  const retry = openRetry(log, signal);
  const deliver = openDeliver({ send, cache, recorder, held, report, retry });
  const owners = openOwners({ endpoints, held, cache, lanes, deliver, replicas, tellChanged, limit, log });
  return { deliver, owners, tellChanged };
}

/** Hears from the other replicas which endpoints have changed. */
function listenForChanges(
  bus: Pick<Bus, 'listen'>,
  self: string,
  cache: EndpointCache,
  owners: Owners,
): Disposable {
  const onChanged = ({ body, headers }: Broadcast): void => {
    if (headers.get('replica') === self) return;
    const id = Buffer.from(body).toString();
    cache.forget(id);
    owners.wake(id);
  };
  const onAnyChanged = (): void => {
    cache.forgetAll();
    owners.wakeAll();
  };
  return bus.listen(endpointChangedSubject, onChanged, onAnyChanged);
}
