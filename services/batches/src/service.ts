// The batches service: batches of products, and the due-diligence statements drafted for them. This file is its
// wiring, in order, and nothing else.
import { healthSubject, subjects } from '@integration-sync/contracts';
import { openFooting } from '@integration-sync/runtime/footing';
import { healthHandlers } from '@integration-sync/runtime/health';
import { maskSettings } from '@integration-sync/runtime/config';
import { openLog, type Log } from '@integration-sync/runtime/log';
import { openSync, type Stage } from '@integration-sync/sync';
import { batchesKind } from './batches.ts';
import { BatchesConfig } from './config.ts';
import { resolveProducts } from './products.ts';

export interface Batches extends AsyncDisposable {
  readonly metricsUrl: string;
}

export interface BatchesDeps {
  now?: () => number;
  log?: Log;
  onStage?: (stage: Stage) => Promise<void>;
  /** Ends the wait for engines that do not come. */
  signal?: AbortSignal;
}

export async function startBatches(config: BatchesConfig, deps: BatchesDeps = {}): Promise<Batches> {
  const { log = openLog({ service: 'batches', level: config.LOG_LEVEL }), now, onStage, signal } = deps;
  log.info({ settings: maskSettings(BatchesConfig, config) }, 'starting');
  await using starting = new AsyncDisposableStack();
  const { metrics, store, bus, tracing } = starting.use(
    await openFooting({ service: 'batches', config, log, signal }),
  );
  const batches = batchesKind(resolveProducts(bus));
  const sync = starting.use(
    await openSync({
      service: 'batches',
      store,
      bus,
      log,
      metrics,
      tracing,
      kinds: [batches],
      streamSettings: config,
      pushesAtOnceMax: config.PUSHES_AT_ONCE_MAX,
      now,
      onStage,
    }),
  );
  starting.use(
    await bus.serve({
      service: 'batches',
      version: '1.0.0',
      description: 'Batches and their due-diligence drafts: pushes and listings',
      inFlightMax: config.REQUESTS_IN_FLIGHT_MAX,
      handlers: {
        [subjects.batchesPush]: sync.push(batches),
        [subjects.batchesPlan]: sync.plan(batches),
        [subjects.batchesArchive]: sync.changeStatus(batches, 'archive'),
        [subjects.batchesList]: sync.list(batches),
        [subjects.ddsList]: sync.listDrafts(batches),
        [subjects.batchesRunsList]: sync.answerRuns(),
        [subjects.batchesRunsFind]: sync.answerRuns(),
        [subjects.batchesRunsGet]: sync.answerRun(),
        [subjects.batchesRunsUnannounced]: sync.answerUnannounced(),
        ...healthHandlers({ service: 'batches', store, natsMonitorUrl: config.NATS_MONITOR_URL }),
      },
      gates: {
        [subjects.batchesPush]: sync.pushGate,
        [subjects.batchesPlan]: sync.pushGate,
        [subjects.batchesArchive]: sync.pushGate,
      },
      quiet: [healthSubject('batches')],
    }),
  );
  log.info({ metrics: metrics.url }, 'serving');
  const running = starting.move();
  return { metricsUrl: metrics.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
