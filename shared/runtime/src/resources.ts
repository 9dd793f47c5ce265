// The resources of a service with a database, opened in the order metrics, traces, MongoDB, NATS, and closed in the opposite order.
import type { ServiceName } from '@integration-sync/contracts';
import type { Static, TObject } from 'typebox';
import { buildOf } from './build.ts';
import { openBus, type Bus } from './bus/index.ts';
import { natsOptionsOf, type baseSettings, type storeSettings } from './config/index.ts';
import type { Log } from './log.ts';
import { openMetrics } from './metrics.ts';
import { tellNotes } from './health.ts';
import { watchNatsHealth } from './nats-health.ts';
import { observeStreams } from './stream-metrics.ts';
import {
  openStore,
  openStoreProof,
  type Store,
  type StoreOptions,
  type StoreProof,
  watchIdentity,
} from './store/index.ts';
import { openTracing } from './tracing/index.ts';

export type Resources = Awaited<ReturnType<typeof openResources>>;

type ResourcesConfig = Static<TObject<typeof baseSettings & typeof storeSettings>>;

export interface ResourcesOptions {
  service: ServiceName;
  config: Readonly<ResourcesConfig>;
  log: Log;
  /** Aborts the wait for an engine that does not answer. */
  signal?: AbortSignal | undefined;
  /** Notes for `/readyz` on misspelt settings. */
  misspelt?: readonly string[] | undefined;
  onCommand?: StoreOptions['onCommand'];
  /** A collection that the service reads and writes all the time. */
  provenIn: string;
}

export async function openResources(options: ResourcesOptions) {
  const { service, config, log, signal, misspelt = [], onCommand, provenIn } = options;
  await using opening = new AsyncDisposableStack();
  const metrics = opening.use(
    await openMetrics({
      service,
      build: buildOf(config),
      port: config.METRICS_PORT,
      host: config.METRICS_HOST,
    }),
  );
  const tracing = opening.use(await openTracing({ service, config, log }));
  const reached: { store?: Store; proof?: StoreProof; bus?: Bus } = {};
  metrics.engines.needs(
    {
      mongodb: () => reached.store?.connected === true && reached.proof?.isFailing !== true,
      // The service connects to NATS only after MongoDB has answered.
      nats: () => (reached.store === undefined ? undefined : reached.bus?.connected === true),
    },
    () => reached.store?.indexesAwaited(),
  );
  const store = opening.use(
    await openStore({
      url: config.MONGODB_URL,
      database: config.MONGODB_DATABASE,
      poolSize: config.MONGODB_POOL_SIZE,
      log,
      signal,
      tracing,
      onCommand,
    }),
  );
  reached.store = store;
  const proof = opening.use(openStoreProof(store, provenIn, log));
  reached.proof = proof;
  const bus = opening.use(
    await openBus({
      ...natsOptionsOf(config),
      name: service,
      log,
      signal,
      observe: (seen) => metrics.observeRequest(seen),
      tracing,
    }),
  );
  reached.bus = bus;
  observeStreams(metrics.registry, bus);
  const health = opening.use(watchNatsHealth(config.NATS_MONITOR_URL, log));
  const others = new Set<() => readonly string[]>([() => misspelt]);
  const notes = (): string[] => [
    ...metrics.engines.startNotes(),
    ...bus.streamNotes(),
    ...health.notes(),
    ...[...others].flatMap((read) => read()),
  ];
  opening.use(tellNotes(service, bus, notes, opening.use(watchIdentity(store, provenIn, log)).now));
  const open = opening.move();
  return {
    metrics,
    store,
    bus,
    /** Notes that the process is ready to serve. Rejects if MongoDB does not allow its reads and writes. */
    served: async (): Promise<void> => {
      await proof.prove();
      metrics.engines.served();
    },
    proof,
    tracing,
    /** Adds notes of the service itself for `/readyz`. */
    addNotes: (read: () => readonly string[]): void => void others.add(read),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
