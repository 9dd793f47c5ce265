// Opens the engine for one service: its kinds, its journal, its listings, and the sweeper that finishes what a process left
// when it died.
import { randomUUID } from 'node:crypto';
import {
  eventBatchesStreamSpec,
  eventsStreamSpec,
  type Announcer,
  type StreamSettings,
} from '@integration-sync/contracts';
import {
  largeRequests,
  type Bus,
  type BusHandler,
  type BusReply,
  type BusRequest,
} from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openSemaphore, type Semaphore } from '@integration-sync/runtime/semaphore';
import type { Metrics } from '@integration-sync/runtime/metrics';
import { storeFailure, type Store } from '@integration-sync/runtime/store';
import type { Tracing } from '@integration-sync/runtime/tracing';
import { LRUCache } from 'lru-cache';
import type { StatusChange } from './action.ts';
import { openAnnouncer } from './announcing/announcer.ts';
import { changeStatus, plan, push } from './pushing/push.ts';
import { steadyClock } from './clock.ts';
import { openDrafts, type DraftDocument } from './records/drafts.ts';
import type { Engine, KindEngine } from './engine.ts';
import { openWatermarks } from './watermarks.ts';
import { answerRun, answerRuns, getRun, listRuns, openRuns, type RunJournal } from './listing/sync-runs.ts';
import { journalIndexes, openJournal } from './journal/journal.ts';
import { sharedKey } from './shared-key.ts';
import type { Kind } from './kind.ts';
import { listingIndexes } from './listing/indexes.ts';
import { openListing, type ListingRule } from './listing/listing.ts';
import { openRecordQueues } from './records/record-queues.ts';
import { openSyncMetrics } from './metrics.ts';
import { collectionNames } from './names.ts';
import { recordListing } from './listing/record-listing.ts';
import { openChangeTimes, type ChangeTimes } from './records/change-times.ts';
import { openRecords } from './records/records.ts';
import type { Stage } from './stage.ts';
import { actionReaders } from './items/sync-status.ts';
import { startSweeper } from './recovery/sweeper.ts';
import { answerUnannounced } from './announcing/unannounced.ts';
import { compileValidator } from './items/validate.ts';

export interface SyncOptions {
  /** Whose collections these are: journal, watermarks and keys are named after it. */
  service: Announcer;
  store: Store;
  bus: Bus;
  log: Log;
  metrics: Pick<Metrics, 'registry'>;
  /** Undefined where nothing is traced. */
  tracing?: Tracing | undefined;
  kinds: readonly Kind[];
  streamSettings: StreamSettings;
  /**
   * How many pushes this process carries out at once; others wait for their turn. The database does not get faster by
   * being asked everything at the same time, only fuller.
   */
  pushesAtOnceMax: number;
  now?: (() => number) | undefined;
  /** Called at the places at which a test may stop the process. */
  onStage?: ((stage: Stage) => Promise<void>) | undefined;
}

export interface Sync extends AsyncDisposable {
  /** What pushes of every kind pass. */
  readonly pushSemaphore: Semaphore;
  /** Answers pushes of the kind, once it is their turn. */
  push(kind: Kind): BusHandler;
  /** Answers what a push of the kind would be answered with, once it is its turn. */
  plan(kind: Kind): BusHandler;
  /** Archives records of the kind, or erases them, once it is the turn of the request. */
  changeStatus(kind: Kind, action: StatusChange): BusHandler;
  /** Answers listings of the kind. */
  list(kind: Kind): BusHandler;
  /** Answers listings of the drafts of the kind. */
  listDrafts(kind: Kind): BusHandler;
  /** Answers what another service asks about the pushes that were made here. */
  answerRuns(): BusHandler;
  /** Answers what another service asks about one of them. */
  answerRun(): BusHandler;
  /** Answers with one push: of those that were made here, or in the other journals. */
  getRun(others: readonly RunJournal[]): BusHandler;
  /** Answers what webhooks asks about pushes whose events are still to come. */
  answerUnannounced(): BusHandler;
  /** Answers listings of all pushes: those that were made here, and those of the other journals. */
  listRuns(others: readonly RunJournal[]): BusHandler;
}

export async function openSync(options: SyncOptions): Promise<Sync> {
  const { service, store, kinds } = options;
  await using opening = new AsyncDisposableStack();
  const names = collectionNames(service);
  const engine = await openEngine(options, names, opening);
  const engines = new Map(
    kinds.map((kind) => {
      const changeTimes = opening.use(openChangeTimes(store, kind.plural, options.log));
      return [kind.entityType, openKind(store, kind, changeTimes)];
    }),
  );
  opening.use(startSweeper(engine, engines));

  const cursorKey = await sharedKey(store, names.keys, 'cursor');
  const listing = { store, engine, cursorKey };
  const runs = openRuns(
    store,
    names.journal,
    kinds.map(({ entityType }) => entityType),
  );
  const engineOf = (kind: Kind): KindEngine => {
    const of = engines.get(kind.entityType);
    if (of === undefined) throw new Error(`${service} was not opened for ${kind.plural}`);
    return of;
  };
  const open = opening.move();
  return {
    pushSemaphore: engine.semaphore,
    push(kind) {
      const of = engineOf(kind);
      return answering((request) => push(engine, of, request));
    },
    plan(kind) {
      const of = engineOf(kind);
      return answering((request) => plan(engine, of, request));
    },
    changeStatus(kind, action) {
      const of = engineOf(kind);
      return answering((request) => changeStatus(engine, of, request, action));
    },
    list: (kind) => answering(openListing(listing, recordListing(engineOf(kind)))),
    listDrafts(kind) {
      if (kind.drafting === undefined) throw new Error(`the kind ${kind.plural} has no drafts`);
      return answering(openListing(listing, draftListing(kind.drafting.collection)));
    },
    answerRuns: () => answering(answerRuns(runs)),
    answerRun: () => answering(answerRun(runs)),
    getRun: (others) => answering(getRun([runs, ...others])),
    answerUnannounced: () => answering(answerUnannounced(engine.journal)),
    listRuns: (others) => answering(listRuns([runs, ...others], cursorKey)),
    [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
  };
}

const rememberedMax = 10_000;

/** Resolves once the stream and every index are there. */
async function openEngine(
  options: SyncOptions,
  names: { journal: string; watermarks: string },
  opening: AsyncDisposableStack,
): Promise<Engine> {
  const { service, store, bus, log, tracing, kinds, onStage } = options;
  const now = steadyClock(options.now);
  const journal = openJournal(store, names.journal);
  const semaphore = openSemaphore(largeRequests(options.pushesAtOnceMax));
  const metrics = openSyncMetrics(options.metrics.registry, {
    inside: () => semaphore.held,
    waiting: () => semaphore.waiting,
    backlog: () => journal.backlog(),
    now,
  });
  const reach = async (stage: Stage): Promise<void> => onStage?.(stage);
  const ensureEvents = async (): Promise<void> => {
    await bus.ensureStream(eventsStreamSpec(options.streamSettings));
    await bus.ensureStream(eventBatchesStreamSpec(options.streamSettings));
  };
  const owner = randomUUID();
  await Promise.all([
    ensureEvents(),
    store.ensureIndexes(names.journal, journalIndexes),
    ...[...kinds.map(({ plural }) => plural), ...draftCollections(kinds)].map((collection) =>
      store.ensureIndexes(collection, listingIndexes),
    ),
  ]);
  return {
    service,
    log,
    bus,
    now,
    owner,
    journal,
    watermarks: openWatermarks(store, names.watermarks, now),
    announcer: opening.use(openAnnouncer({ service, bus, journal, owner, log, now, reach, tracing })),
    semaphore,
    queues: opening.use(openRecordQueues()),
    metrics,
    settledPushes: new LRUCache({ max: rememberedMax }),
    pushedAgain: new LRUCache({ max: rememberedMax }),
    ensureEvents,
    reach,
    tracing,
  };
}

function openKind(store: Store, kind: Kind, changeTimes: ChangeTimes): KindEngine {
  return {
    kind,
    validate: compileValidator(kind.schema),
    readers: actionReaders(kind),
    records: openRecords(store, kind.plural),
    changeTimes,
    drafts: kind.drafting === undefined ? undefined : openDrafts(store, kind.drafting.collection),
  };
}

const draftCollections = (kinds: readonly Kind[]): string[] =>
  kinds.flatMap(({ drafting }) => drafting?.collection ?? []);

const draftListing = (collection: string): ListingRule<DraftDocument> => ({
  name: collection,
  fields: ['entry'],
  entityOf: ({ entry }) => entry,
});

/** The database's own errors become the failure that the caller gets. */
const answering =
  (handler: (request: BusRequest) => Promise<BusReply>): BusHandler =>
  async (request) => {
    try {
      return await handler(request);
    } catch (error) {
      throw storeFailure(error);
    }
  };
