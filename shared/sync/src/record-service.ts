// Starts a service that stores records. Catalog and batches each declare their kinds and handlers. Everything else is common to
// both: the engine, the listings, and the sweeper that finishes pushes of dead processes.
import type { Announcer } from '@integration-sync/contracts';
import { buildOf } from '@integration-sync/runtime/build';
import type { Bus, BusHandler, BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { baseSettings, maskSettings, storeSettings } from '@integration-sync/runtime/config';
import { healthHandlers } from '@integration-sync/runtime/health';
import { openLog, type Log } from '@integration-sync/runtime/log';
import { openResources, type ResourcesOptions } from '@integration-sync/runtime/resources';
import { withStoreFailures, type Store } from '@integration-sync/runtime/store';
import type { Registry } from 'prom-client';
import { Type, type Static } from 'typebox';
import type { StatusChange } from './action.ts';
import { openEngine, openKind, type Engine, type EngineOptions, type KindEngine } from './engine.ts';
import { steadyClock, type Clock } from './clock.ts';
import type { Kind } from './kind.ts';
import { openListing } from './listing/answer-page.ts';
import { draftListing } from './listing/draft-listing.ts';
import { recordListing } from './listing/record-listing.ts';
import {
  answerRun,
  answerRuns,
  answerUnannounced,
  getRun,
  listRuns,
  openRuns,
  type RunJournal,
} from './listing/sync-runs.ts';
import { collectionNames } from './names.ts';
import { plan } from './pushing/plan.ts';
import { changeStatus, push } from './pushing/push.ts';
import { startSweeper } from './recovery/sweeper.ts';
import { sharedKey } from './shared-key.ts';
import type { Stage } from './stage.ts';

const syncSettings = {
  PUSHES_AT_ONCE_MAX: Type.Integer({
    description:
      'How many pushes one process carries out at a time; integrations take turns. More than four pushes only slow each other down.',
    default: 4,
    minimum: 1,
    maximum: 1_000,
  }),
  REQUESTS_IN_FLIGHT_MAX: Type.Integer({
    description:
      'How many requests of one kind, except pushes, one process works on at a time; integrations take turns.',
    default: 16,
    minimum: 1,
    maximum: 10_000,
  }),
};

export const RecordServiceConfig = Type.Object({ ...baseSettings, ...storeSettings, ...syncSettings });
export type RecordServiceConfig = Static<typeof RecordServiceConfig>;

export interface RecordService extends AsyncDisposable {
  readonly metricsUrl: string;
}

/** Dependencies that tests replace, and what a process gives its start. */
export interface RecordServiceDeps extends Partial<
  Pick<ResourcesOptions, 'log' | 'signal' | 'misspelt' | 'onCommand'>
> {
  now?: () => number;
  onStage?: (stage: Stage) => Promise<void>;
}

/** The parts with which a service opens its handlers. */
export interface RecordServiceParts {
  store: Store;
  bus: Bus;
  registry: Registry;
  log: Log;
  now: Clock;
  onStage: (stage: Stage) => Promise<void>;
  openKinds: (kinds: readonly Kind[]) => Promise<Sync>;
  /** Ends the background work of the service, before NATS and MongoDB are closed. */
  use: <Resource extends AsyncDisposable>(resource: Resource) => Resource;
}

interface RecordServiceRule {
  service: Announcer;
  /** The description that `nats service info` shows. */
  description: string;
  /** Opens the kinds of the service, once, and returns the handler of each subject. */
  open: (parts: RecordServiceParts) => Promise<{
    sync: Sync;
    /** Handlers by subject that share the semaphore of pushes. */
    pushes: Readonly<Record<string, BusHandler>>;
    /** Handlers by subject, each with its own semaphore. */
    others: Readonly<Record<string, BusHandler>>;
  }>;
}

export const recordService =
  ({ service, description, open }: RecordServiceRule) =>
  async (config: Readonly<RecordServiceConfig>, deps: RecordServiceDeps = {}): Promise<RecordService> => {
    const {
      log = openLog({ service, level: config.LOG_LEVEL }),
      now: clock,
      onStage: stop,
      ...passed
    } = deps;
    const now = steadyClock(clock);
    const onStage = async (stage: Stage): Promise<void> => stop?.(stage);
    log.info({ settings: maskSettings(RecordServiceConfig, config) }, 'starting');
    await using starting = new AsyncDisposableStack();
    const resources = starting.use(
      await openResources({
        service,
        config,
        log,
        ...passed,
        provenIn: collectionNames(service).journal,
      }),
    );
    const { metrics, store, bus, proof } = resources;
    const openKinds = (kinds: readonly Kind[]): Promise<Sync> =>
      openSync({ service, config, kinds, log, resources, now, onStage }, starting);
    const { sync, pushes, others } = await open({
      store,
      bus,
      registry: metrics.registry,
      log,
      now,
      onStage,
      openKinds,
      use: (resource) => starting.use(resource),
    });
    starting.use(
      await bus.serve({
        service,
        ...buildOf(config),
        description,
        inFlightMax: config.REQUESTS_IN_FLIGHT_MAX,
        handlers: {
          ...withStoreFailures({ ...pushes, ...others }),
          ...healthHandlers({ service, proof, natsMonitorUrl: config.NATS_MONITOR_URL }),
        },
        semaphores: Object.fromEntries(Object.keys(pushes).map((subject) => [subject, sync.pushSemaphore])),
      }),
    );
    await resources.served();
    log.info({ metrics: metrics.url }, 'serving');
    const running = starting.move();
    return { metricsUrl: metrics.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
  };

type KindHandler = (engine: Engine, of: KindEngine, request: BusRequest) => Promise<BusReply>;

type Sync = Awaited<ReturnType<typeof openSync>>;

async function openSync(options: EngineOptions, opening: AsyncDisposableStack) {
  const { service, kinds, log, resources } = options;
  const { store } = resources;
  const engine = await openEngine(options, opening);
  await engine.journal.bringForward(new Date(engine.now()));
  const engines = new Map(kinds.map((kind) => [kind.entityType, openKind(kind, store, log, opening)]));
  opening.use(startSweeper(engine, engines));

  const names = collectionNames(service);
  const cursorKey = await sharedKey(store, names.keys, 'cursor');
  const listing = { store, engine, cursorKey };
  const runs = openRuns(store, names.journal, [...engines.keys()]);
  const engineOf = (kind: Kind): KindEngine => {
    const of = engines.get(kind.entityType);
    if (of === undefined) throw new Error(`the service ${service} does not store ${kind.plural}`);
    return of;
  };
  const ofKind =
    (handler: KindHandler) =>
    (kind: Kind): BusHandler => {
      const of = engineOf(kind);
      return (request) => handler(engine, of, request);
    };
  return {
    pushSemaphore: engine.semaphore,
    push: ofKind(push),
    plan: ofKind(plan),
    changeStatus: (kind: Kind, action: StatusChange): BusHandler => ofKind(changeStatus(action))(kind),
    list: (kind: Kind): BusHandler => openListing(listing, recordListing(engineOf(kind))),
    listDrafts: (kind: Kind): BusHandler => openListing(listing, draftListing(engineOf(kind))),
    /** Reads the pushes in the journal of this service; `other` reads those in the journal of the other service. */
    runs,
    answerRuns: answerRuns(runs),
    answerRun: answerRun(runs),
    answerUnannounced: answerUnannounced(engine.journal),
    getRun: (other: RunJournal): BusHandler => getRun([runs, other]),
    listRuns: (other: RunJournal): BusHandler => listRuns([runs, other], cursorKey),
  };
}
