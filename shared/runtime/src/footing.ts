// What every service that keeps records stands on: its metrics, its traces, its database and the bus. They are opened in this
// order, waiting for engines that are not there yet, and closed in the opposite one.
import type { ServiceName } from '@integration-sync/contracts';
import type { Static, TObject } from 'typebox';
import { openBus, type Bus } from './bus/index.ts';
import type { baseSettings, storeSettings } from './config/index.ts';
import type { Log } from './log.ts';
import { openMetrics, type Metrics } from './metrics.ts';
import { observeStreams, tellNotes } from './standing.ts';
import { openStore, type Store } from './store/index.ts';
import { openTracing, type Tracing } from './tracing/index.ts';

export interface Footing extends AsyncDisposable {
  readonly metrics: Metrics;
  readonly store: Store;
  readonly bus: Bus;
  /** Undefined where nothing is traced. */
  readonly tracing: Tracing | undefined;
}

type FootingConfig = Static<TObject<typeof baseSettings & typeof storeSettings>>;

export interface FootingOptions {
  service: ServiceName;
  config: Readonly<FootingConfig>;
  log: Log;
  /** Ends the wait for a database that does not come. */
  signal?: AbortSignal | undefined;
}

export async function openFooting({ service, config, log, signal }: FootingOptions): Promise<Footing> {
  await using opening = new AsyncDisposableStack();
  const metrics = opening.use(
    await openMetrics({ service, port: config.METRICS_PORT, host: config.METRICS_HOST }),
  );
  const tracing = opening.use(await openTracing({ service, config, log }));
  const store = opening.use(
    await openStore({
      url: config.MONGODB_URL,
      database: config.MONGODB_DATABASE,
      poolSize: config.MONGODB_POOL_SIZE,
      log,
      signal,
      tracing,
    }),
  );
  const bus = opening.use(
    await openBus({
      url: config.NATS_URL,
      name: service,
      log,
      observe: (seen) => metrics.observeRequest(seen),
      tracing,
    }),
  );
  observeStreams(metrics.registry, bus);
  opening.use(tellNotes(service, bus));
  const open = opening.move();
  return { metrics, store, bus, tracing, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
