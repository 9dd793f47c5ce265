// Opens the engine: the parts that pushes, listings and recovery share within one process.
import { randomUUID } from 'node:crypto';
import {
  eventBatchesStreamSpec,
  eventsStreamSpec,
  type Announcer,
  type StreamSettings,
} from '@integration-sync/contracts';
import { largeRequests } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Resources } from '@integration-sync/runtime/resources';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Store } from '@integration-sync/runtime/store';
import { LRUCache } from 'lru-cache';
import { openAnnouncer } from './announcing/announcer.ts';
import type { Clock } from './clock.ts';
import { actionReaders } from './items/archive-erase.ts';
import { compileValidator } from './items/validate.ts';
import { journalIndexes, openJournal } from './journal/journal.ts';
import type { Kind } from './kind.ts';
import { openSyncMetrics } from './metrics.ts';
import { collectionNames, listingIndexes, statusIndex } from './names.ts';
import { openChangeTimes } from './records/change-times.ts';
import { openDrafts } from './records/drafts.ts';
import { openRecordQueues } from './records/record-queues.ts';
import { openRecords } from './records/records.ts';
import type { Stage } from './stage.ts';
import { openWatermarks } from './watermarks.ts';

export type Engine = Awaited<ReturnType<typeof openEngine>>;
export type KindEngine = ReturnType<typeof openKind>;

export interface EngineOptions {
  /** The service, after which the collections of journal, watermarks and keys are named. */
  service: Announcer;
  config: Readonly<StreamSettings & { PUSHES_AT_ONCE_MAX: number }>;
  kinds: readonly Kind[];
  log: Log;
  resources: Pick<Resources, 'store' | 'bus' | 'metrics' | 'tracing'>;
  now: Clock;
  /** Called at each stage of a push, at which a test may stop the process (stage.ts). */
  onStage: (stage: Stage) => Promise<void>;
}

const rememberedMax = 10_000;

/** Resolves once the streams and all indexes exist. */
export async function openEngine(options: EngineOptions, opening: AsyncDisposableStack) {
  const { service, config, kinds, log, resources, now, onStage: reach } = options;
  const { store, bus, metrics, tracing } = resources;
  const names = collectionNames(service);
  const journal = openJournal(store, names.journal);
  // More pushes at a time load the database without making it faster.
  const semaphore = openSemaphore(largeRequests(config.PUSHES_AT_ONCE_MAX));
  const ensureEvents = async (): Promise<void> => {
    await bus.ensureStream(eventsStreamSpec(config));
    await bus.ensureStream(eventBatchesStreamSpec(config));
  };
  const owner = randomUUID();
  // The metrics open before `ensureEvents`, so that gauges of unannounced pushes have values while the process waits for NATS.
  const measures = openSyncMetrics(metrics.registry, { semaphore, journal, now });
  const drafted = kinds.flatMap(({ drafting }) => (drafting === undefined ? [] : [drafting.collection]));
  await Promise.all([
    ensureEvents(),
    store.ensureIndexes(names.journal, journalIndexes),
    ...kinds.map(({ plural }) => store.ensureIndexes(plural, listingIndexes)),
    ...drafted.map((collection) => store.ensureIndexes(collection, [...listingIndexes, statusIndex])),
  ]);
  return {
    service,
    log,
    bus,
    now,
    /** The id of this process as an owner of journal entries. */
    owner,
    journal,
    watermarks: openWatermarks(store, names.watermarks, now),
    announcer: opening.use(openAnnouncer({ service, bus, journal, owner, log, now, reach, tracing })),
    semaphore,
    /** Queues in which pushes of the same records wait for each other. */
    queues: opening.use(openRecordQueues()),
    metrics: measures,
    /** Sync ids of pushes that are known to have finished writing. */
    settledPushes: new LRUCache<string, true>({ max: rememberedMax }),
    /** Watermark keys of listings. The last push to such a listing in this process named existing records. */
    pushedAgain: new LRUCache<string, true>({ max: rememberedMax }),
    /** Creates EVENTS and EVENT_BATCHES if they are missing, and changes them if they differ from this release. */
    ensureEvents,
    reach,
    tracing,
  };
}

export const openKind = (kind: Kind, store: Store, log: Log, opening: AsyncDisposableStack) => ({
  kind,
  validate: compileValidator(kind.schema),
  readers: actionReaders(kind),
  records: openRecords(store, kind.plural),
  changeTimes: opening.use(openChangeTimes(store, kind.plural, log)),
  drafts: kind.drafting && openDrafts(store, kind.drafting),
});
