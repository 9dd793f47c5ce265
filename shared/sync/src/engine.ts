// What the steps of a push, a listing and a recovery share within one process, and its opening.
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
import { steadyClock, type Clock } from './clock.ts';
import { actionReaders } from './items/sync-status.ts';
import { compileValidator } from './items/validate.ts';
import { journalIndexes, openJournal } from './journal/journal.ts';
import type { Kind } from './kind.ts';
import { openSyncMetrics } from './metrics.ts';
import { collectionNames, listingIndexes } from './names.ts';
import { openChangeTimes } from './records/change-times.ts';
import { openDrafts } from './records/drafts.ts';
import { openRecordQueues } from './records/record-queues.ts';
import { openRecords } from './records/records.ts';
import type { Stage } from './stage.ts';
import { openWatermarks } from './watermarks.ts';

export type Engine = Awaited<ReturnType<typeof openEngine>>;
export type KindEngine = ReturnType<typeof openKind>;

export interface EngineOptions {
  /** Whose collections these are: journal, watermarks and keys are named after it. */
  service: Announcer;
  config: Readonly<StreamSettings & { PUSHES_AT_ONCE_MAX: number }>;
  kinds: readonly Kind[];
  log: Log;
  resources: Pick<Resources, 'store' | 'bus' | 'metrics' | 'tracing'>;
  now?: Clock | undefined;
  /** Called at the places at which a test may stop the process. */
  onStage?: ((stage: Stage) => Promise<void>) | undefined;
}

const rememberedMax = 10_000;

/** Resolves once the streams and every index are there. */
export async function openEngine(options: EngineOptions, opening: AsyncDisposableStack) {
  const { service, config, kinds, log, resources, onStage } = options;
  const { store, bus, metrics, tracing } = resources;
  const names = collectionNames(service);
  const now = steadyClock(options.now);
  const journal = openJournal(store, names.journal);
  // The database does not get faster by being asked everything at the same time, only fuller.
  const semaphore = openSemaphore(largeRequests(config.PUSHES_AT_ONCE_MAX));
  const reach = async (stage: Stage): Promise<void> => onStage?.(stage);
  const ensureEvents = async (): Promise<void> => {
    await bus.ensureStream(eventsStreamSpec(config));
    await bus.ensureStream(eventBatchesStreamSpec(config));
  };
  const owner = randomUUID();
  // Registered before the streams exist: the gauges of unannounced pushes have values while this process waits for NATS.
  const measures = openSyncMetrics(metrics.registry, { semaphore, journal, now });
  const listed = kinds.flatMap(({ plural, drafting }) =>
    drafting ? [plural, drafting.collection] : [plural],
  );
  await Promise.all([
    ensureEvents(),
    store.ensureIndexes(names.journal, journalIndexes),
    ...listed.map((collection) => store.ensureIndexes(collection, listingIndexes)),
  ]);
  return {
    /** Announces the events of its pushes. */
    service,
    log,
    bus,
    now,
    /** Names this process in the journal. */
    owner,
    journal,
    watermarks: openWatermarks(store, names.watermarks, now),
    announcer: opening.use(openAnnouncer({ service, bus, journal, owner, log, now, reach, tracing })),
    /** What every push of this process passes. */
    semaphore,
    /** The order of pushes of the same records. */
    queues: opening.use(openRecordQueues()),
    metrics: measures,
    /** Pushes that are known to be past their writing. */
    settledPushes: new LRUCache<string, true>({ max: rememberedMax }),
    /** Listings whose last push here was of records that were there already. */
    pushedAgain: new LRUCache<string, true>({ max: rememberedMax }),
    /** Resolves once the streams of events are there and as they should be. */
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
  /** For a kind that has drafts. */
  drafts: kind.drafting && openDrafts(store, kind.drafting),
});
