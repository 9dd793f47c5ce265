// What the steps of a push, a listing and a recovery share within one process.
import type { Announcer as AnnouncingService } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Semaphore } from '@integration-sync/runtime/semaphore';
import type { Tracing } from '@integration-sync/runtime/tracing';
import type { LRUCache } from 'lru-cache';
import type { Action } from './action.ts';
import type { Announcer } from './announcing/announcer.ts';
import type { Clock } from './clock.ts';
import type { Drafts } from './records/drafts.ts';
import type { FieldReader } from './items/changes.ts';
import type { Watermarks } from './watermarks.ts';
import type { Journal } from './journal/journal.ts';
import type { Kind } from './kind.ts';
import type { SyncMetrics } from './metrics.ts';
import type { RecordQueues } from './records/record-queues.ts';
import type { ChangeTimes } from './records/change-times.ts';
import type { Records } from './records/records.ts';
import type { Stage } from './stage.ts';
import type { Validator } from './items/validate.ts';

export interface Engine {
  /** Announces the events of its pushes. */
  service: AnnouncingService;
  log: Log;
  bus: Bus;
  now: Clock;
  /** Names this process in the journal. */
  owner: string;
  journal: Journal;
  watermarks: Watermarks;
  announcer: Announcer;
  /** Listings whose last push here was of records that were there already. */
  pushedAgain: LRUCache<string, true>;
  /** What every push of this process passes. */
  semaphore: Semaphore;
  /** The order of pushes of the same records. */
  queues: RecordQueues;
  metrics: SyncMetrics;
  /** Pushes that are known to be past their writing. */
  settledPushes: LRUCache<string, true>;
  /** Resolves once the streams of events are there and as they should be. */
  ensureEvents(): Promise<void>;
  reach(stage: Stage): Promise<void>;
  tracing: Tracing | undefined;
}

export interface KindEngine {
  kind: Kind;
  validate: Validator;
  readers: Readonly<Record<Action, FieldReader>>;
  records: Records;
  changeTimes: ChangeTimes;
  /** For a kind that has drafts. */
  drafts: Drafts | undefined;
}
