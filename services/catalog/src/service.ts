// The catalog service: suppliers and products. This file is its wiring, in order, and nothing else.
import { healthSubject, subjects } from '@integration-sync/contracts';
import { openFooting } from '@integration-sync/runtime/footing';
import { healthHandlers } from '@integration-sync/runtime/health';
import { maskSettings } from '@integration-sync/runtime/config';
import { openLog, type Log } from '@integration-sync/runtime/log';
import { erasableForMs, openLookup, openSync, type Stage } from '@integration-sync/sync';
import { CatalogConfig } from './config.ts';
import { productsKind, resolveProducts } from './products.ts';
import { runsOfBatches } from './runs.ts';
import { suppliers } from './suppliers.ts';

export interface Catalog extends AsyncDisposable {
  readonly metricsUrl: string;
}

export interface CatalogDeps {
  now?: () => number;
  log?: Log;
  onStage?: (stage: Stage) => Promise<void>;
  /** Ends the wait for engines that do not come. */
  signal?: AbortSignal;
}

export async function startCatalog(config: CatalogConfig, deps: CatalogDeps = {}): Promise<Catalog> {
  const { log = openLog({ service: 'catalog', level: config.LOG_LEVEL }), now, onStage, signal } = deps;
  log.info({ settings: maskSettings(CatalogConfig, config) }, 'starting');
  await using starting = new AsyncDisposableStack();
  const { metrics, store, bus, tracing } = starting.use(
    await openFooting({ service: 'catalog', config, log, signal }),
  );
  const products = productsKind(openLookup(store, suppliers, erasableForMs));
  const sync = starting.use(
    await openSync({
      service: 'catalog',
      store,
      bus,
      log,
      metrics,
      tracing,
      kinds: [suppliers, products],
      streamSettings: config,
      pushesAtOnceMax: config.PUSHES_AT_ONCE_MAX,
      now,
      onStage,
    }),
  );
  starting.use(
    await bus.serve({
      service: 'catalog',
      version: '1.0.0',
      description: 'Suppliers and products: pushes, listings, and what others ask about them',
      inFlightMax: config.REQUESTS_IN_FLIGHT_MAX,
      handlers: {
        [subjects.suppliersPush]: sync.push(suppliers),
        [subjects.suppliersPlan]: sync.plan(suppliers),
        [subjects.suppliersArchive]: sync.changeStatus(suppliers, 'archive'),
        [subjects.suppliersErase]: sync.changeStatus(suppliers, 'erase'),
        [subjects.suppliersList]: sync.list(suppliers),
        [subjects.productsPush]: sync.push(products),
        [subjects.productsPlan]: sync.plan(products),
        [subjects.productsArchive]: sync.changeStatus(products, 'archive'),
        [subjects.productsList]: sync.list(products),
        [subjects.productsResolve]: resolveProducts(openLookup(store, products)),
        [subjects.catalogRunsList]: sync.listRuns([runsOfBatches(bus)]),
        [subjects.catalogRunsGet]: sync.getRun([runsOfBatches(bus)]),
        [subjects.catalogRunsUnannounced]: sync.answerUnannounced(),
        ...healthHandlers({ service: 'catalog', store, natsMonitorUrl: config.NATS_MONITOR_URL }),
      },
      gates: {
        [subjects.suppliersPush]: sync.pushGate,
        [subjects.suppliersPlan]: sync.pushGate,
        [subjects.suppliersArchive]: sync.pushGate,
        [subjects.suppliersErase]: sync.pushGate,
        [subjects.productsPush]: sync.pushGate,
        [subjects.productsPlan]: sync.pushGate,
        [subjects.productsArchive]: sync.pushGate,
      },
      quiet: [healthSubject('catalog')],
    }),
  );
  log.info({ metrics: metrics.url }, 'serving');
  const running = starting.move();
  return { metricsUrl: metrics.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
