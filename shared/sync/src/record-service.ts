// The start of a service that stores records. Catalog and batches each name their kinds and their handlers; everything
// between the settings and the first request is the same for both.
import { healthSubject, type Announcer } from '@integration-sync/contracts';
import { buildOf } from '@integration-sync/runtime/build';
import type { Bus, BusHandler } from '@integration-sync/runtime/bus';
import { maskSettings } from '@integration-sync/runtime/config';
import { answerWhileStarting, healthHandlers } from '@integration-sync/runtime/health';
import { openLog, type Log } from '@integration-sync/runtime/log';
import { openResources, type ResourcesOptions } from '@integration-sync/runtime/resources';
import type { Store } from '@integration-sync/runtime/store';
import type { Kind } from './kind.ts';
import { RecordServiceConfig } from './settings.ts';
import type { Stage } from './stage.ts';
import { openSync, type Sync } from './sync.ts';

export interface RecordService extends AsyncDisposable {
  readonly metricsUrl: string;
}

/** What tests replace, and the signal that gives up a start which waits for NATS or MongoDB. */
export interface RecordServiceDeps {
  now?: () => number;
  log?: Log;
  onStage?: (stage: Stage) => Promise<void>;
  /** Ends the wait for engines that do not answer. */
  signal?: AbortSignal;
  /** Gets every command that goes to MongoDB. */
  onCommand?: ResourcesOptions['onCommand'];
}

export interface RecordServiceRule {
  service: Announcer;
  /** What `nats service info` shows. */
  description: string;
  /** Opens the kinds of the service, once, and says which subjects it serves. */
  open: (parts: RecordServiceParts) => Promise<RecordHandlers>;
}

export interface RecordServiceParts {
  store: Store;
  bus: Bus;
  openKinds: (kinds: readonly Kind[]) => Promise<Sync>;
}

/** The handlers of a service by their subjects. */
export interface RecordHandlers {
  sync: Sync;
  /** These share the semaphore of pushes. */
  gated: Readonly<Record<string, BusHandler>>;
  /** Each of these has places of its own. */
  ungated: Readonly<Record<string, BusHandler>>;
}

export async function startRecordService(
  { service, description, open }: RecordServiceRule,
  config: Readonly<RecordServiceConfig>,
  deps: RecordServiceDeps,
): Promise<RecordService> {
  const { log = openLog({ service, level: config.LOG_LEVEL }), now, onStage, signal, onCommand } = deps;
  log.info({ settings: maskSettings(RecordServiceConfig, config) }, 'starting');
  await using starting = new AsyncDisposableStack();
  const resources = await openResources({ service, config, log, signal, onCommand });
  const { metrics, store, bus, tracing } = starting.use(resources);
  const openKinds = async (kinds: readonly Kind[]): Promise<Sync> =>
    starting.use(
      await openSync({
        service,
        store,
        bus,
        log,
        metrics,
        tracing,
        kinds,
        streamSettings: config,
        pushesAtOnceMax: config.PUSHES_AT_ONCE_MAX,
        now,
        onStage,
      }),
    );
  const identity = { service, ...buildOf(config), description };
  const { sync, gated, ungated } = await answerWhileStarting(bus, identity, open({ store, bus, openKinds }));
  starting.use(
    await bus.serve({
      ...identity,
      inFlightMax: config.REQUESTS_IN_FLIGHT_MAX,
      handlers: {
        ...gated,
        ...ungated,
        ...healthHandlers({ service, store, natsMonitorUrl: config.NATS_MONITOR_URL }),
      },
      semaphores: Object.fromEntries(Object.keys(gated).map((subject) => [subject, sync.pushSemaphore])),
      quiet: [healthSubject(service)],
    }),
  );
  log.info({ metrics: metrics.url }, 'serving');
  const running = starting.move();
  return { metricsUrl: metrics.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
