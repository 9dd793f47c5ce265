// Publishes the events of pushes that were answered, in the background: begun in the order of their completion, some
// at a time. A cluster that is electing a leader takes no event for some seconds, so what fails is tried again for some
// seconds. Where that fails as well, the announcer leaves the journal entry to the sweepers, and where the process dies the
// entry is due by itself: a sweeper publishes the events again under the same ids.
//
// Events and event batches stand in two streams, each with a leader of its own. So each has lanes of its own: while one stream
// has no leader, pushes that need the other one do not wait for it.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure, type Announcer as AnnouncingService, type StoredEvents } from '@integration-sync/contracts';
import { oneByOne, openBatcher } from '@integration-sync/runtime/batcher';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { retry } from '@integration-sync/runtime/retry';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Tracing } from '@integration-sync/runtime/tracing';
import type { Clock } from '../clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { Stage } from '../stage.ts';
import type { Announcement } from './announcement.ts';
import { publishBatchOf, publishEvents } from './publish-events.ts';

export interface Announcer extends AsyncDisposable {
  /** Publishes its events soon, unless too many pushes wait for that already. */
  announce(announcement: Announcement): void;
  /** Whether the bus has refused something lately, so that there may soon be something for the sweepers. */
  readonly isHindered: boolean;
}

export interface AnnouncerOptions {
  service: AnnouncingService;
  bus: Pick<Bus, 'publishBatch'>;
  journal: Pick<Journal, 'markAnnounced' | 'leave'>;
  /** Names this process in the journal. */
  owner: string;
  log: Log;
  now: Clock;
  reach: (stage: Stage) => Promise<void>;
  tracing?: Tracing | undefined;
}

/** Of events, and of event batches. Publishing at once hides the way to the disk and back; more would only hold more memory. */
const lanes = { max: 4 };
const pushesMax = 2_000;
/** Of these pushes together: what each holds in memory is its records, or their events. */
const recordsMax = 32_000;

interface Waiting {
  announcement: Announcement;
  /** By `performance.now()`. */
  untilMs: number;
}

export function openAnnouncer(options: AnnouncerOptions): Announcer {
  const { journal, owner, log, now } = options;
  const background = openBackground();
  const { follow } = background;
  const tries = openTries(log, background);
  const mark = openNotes({
    write: (syncIds) => journal.markAnnounced(syncIds, new Date(now())),
    onError: (err, syncIds) => log.warn({ err, syncIds }, 'announced, but not noted as such'),
    background,
  });
  const leave = openNotes({
    write: (syncIds) => journal.leave(syncIds, owner, new Date(now())),
    onError: (err, syncIds) => log.warn({ err, syncIds }, 'sweepers find these when they are overdue'),
    background,
  });
  const held = { pushes: 0, records: 0 };
  const letGo = ({ records }: Announcement): void => {
    held.pushes -= 1;
    held.records -= records.length;
  };

  const inTurn = { events: openSemaphore(lanes).run, batches: openSemaphore(lanes).run };
  const announceBatch = async ({ untilMs, announcement }: Waiting, stored: StoredEvents): Promise<void> => {
    const { syncId } = announcement;
    const published = await tries.patiently({ syncId, untilMs }, () => publishBatchOf(options, stored));
    letGo(announcement);
    if (published === undefined) leave(syncId);
    else mark(syncId);
  };
  const announceEvents = async (one: Waiting): Promise<void> => {
    const { syncId } = one.announcement;
    const published = await tries.patiently({ syncId, untilMs: one.untilMs }, () =>
      publishEvents(options, one.announcement),
    );
    if (published !== undefined) {
      follow(inTurn.batches(() => announceBatch(one, published.result)));
      return;
    }
    letGo(one.announcement);
    leave(syncId);
  };

  return {
    announce(announcement) {
      const { syncId, records } = announcement;
      if (held.pushes >= pushesMax || held.records >= recordsMax) {
        log.warn({ syncId }, 'the announcer is full: a sweeper will publish the events of this push');
        return;
      }
      held.pushes += 1;
      held.records += records.length;
      const one = { announcement, untilMs: triesEnd() };
      follow(inTurn.events(() => announceEvents(one)));
    },
    get isHindered() {
      return tries.areHindered;
    },
    [Symbol.asyncDispose]: () => background[Symbol.asyncDispose](),
  };
}

// Notes in the journal what became of pushes: one update for all that are within a short time.

/** A note can wait a little for the next ones: until then an entry is only announced again by mistake. */
const delayMs = 200;

interface NotesOptions {
  write: (syncIds: readonly string[]) => Promise<void>;
  onError: (error: unknown, syncIds: readonly string[]) => void;
  background: Background;
}

function openNotes({ write, onError, background }: NotesOptions): (syncId: string) => void {
  const note = openBatcher<string, null>(
    async (syncIds) => {
      await write(syncIds).catch((error: unknown) => onError(error, syncIds));
      return syncIds.map(() => null);
    },
    Infinity,
    oneByOne({ pause: () => Promise.race([wait(delayMs, undefined, { ref: false }), background.closing]) }),
  );
  return (syncId) => background.follow(note(syncId));
}

// Work that goes on after its caller has gone on: it is waited for when the process stops.

interface Background extends AsyncDisposable {
  readonly follow: (work: Promise<unknown>) => void;
  /** Resolves when the process stops: from then on, no work waits for anything but its end. */
  readonly closing: Promise<void>;
  readonly isClosing: boolean;
}

function openBackground(): Background {
  const underWay = new Set<Promise<unknown>>();
  const closing = Promise.withResolvers<void>();
  let isClosing = false;
  return {
    follow(work) {
      const followed = work.finally(() => underWay.delete(followed));
      underWay.add(followed);
    },
    closing: closing.promise,
    get isClosing() {
      return isClosing;
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      closing.resolve();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

// Tries again for some seconds what NATS refuses, because a cluster that is electing a leader takes nothing.

/** How long after its push was answered a first or further try begins. */
const triesForMs = 10_000;
const againMs = 250;
/** From a refusal on: longer than the tries of what was refused, so that the sweepers are awake when these are over. */
const hinderedMs = 15_000;

/** When the tries of a push that is answered now are over, by `performance.now()`. */
const triesEnd = (): number => performance.now() + triesForMs;

export interface Tries {
  /** Undefined where it was refused to the end. */
  patiently<T>(
    of: { syncId: string; untilMs: number },
    work: () => Promise<T>,
  ): Promise<{ result: T } | undefined>;
  /** Whether something was refused lately. */
  readonly areHindered: boolean;
}

function openTries(log: Log, background: Background): Tries {
  let refusedAtMs = -Infinity;
  return {
    async patiently({ syncId, untilMs }, work) {
      try {
        const result = await retry(work, {
          mayRetry(error) {
            refusedAtMs = performance.now();
            if (background.isClosing || !mayTryAgain(error, untilMs)) return false;
            log.debug({ err: error, syncId }, 'not announced yet, trying again');
            return true;
          },
          pause: () => Promise.race([wait(againMs, undefined, { ref: false }), background.closing]),
        });
        return { result };
      } catch (error) {
        log.warn({ err: error, syncId }, 'announcing is left to the sweepers');
        return undefined;
      }
    },
    get areHindered() {
      return performance.now() - refusedAtMs < hinderedMs;
    },
  };
}

const mayTryAgain = (error: unknown, untilMs: number): boolean =>
  error instanceof Failure && error.code === 'unavailable' && performance.now() + againMs < untilMs;
