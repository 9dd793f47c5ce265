// Publishes the events of pushes that were answered, in the background: begun in the order of their completion, some
// at a time. A cluster that is electing a leader takes no event for some seconds, so what fails is tried again for some
// seconds. Where that fails as well, the announcer leaves the journal entry to the sweepers, and where the process dies the
// entry is due by itself: a sweeper publishes the events again under the same ids.
//
// Events and event batches stand in two streams, each with a leader of its own. So each has lanes of its own: while one stream
// has no leader, pushes that need the other one do not wait for it.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure, type StoredEvents } from '@integration-sync/contracts';
import { oneByOne, openBatcher } from '@integration-sync/runtime/batcher';
import type { Log } from '@integration-sync/runtime/log';
import { retry } from '@integration-sync/runtime/retry';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Clock } from '../clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { Announcement } from './announcement.ts';
import { publishBatchOf, publishEvents, type PublishOptions } from './publish-events.ts';

export interface AnnouncerOptions extends PublishOptions {
  journal: Pick<Journal, 'markAnnounced' | 'leave'>;
  /** Names this process in the journal. */
  owner: string;
  log: Log;
  now: Clock;
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

export function openAnnouncer(options: AnnouncerOptions) {
  const { journal, owner, log, now } = options;
  const background = openBackground();
  const { follow } = background;
  const tries = openTries(log, background);
  const mark = openNotes(
    background,
    (syncIds) => journal.markAnnounced(syncIds, new Date(now())),
    (err, syncIds) => log.warn({ err, syncIds }, 'announced, but not noted as such'),
  );
  const leave = openNotes(
    background,
    (syncIds) => journal.leave(syncIds, owner, new Date(now())),
    (err, syncIds) => log.warn({ err, syncIds }, 'sweepers find these when they are overdue'),
  );
  const held = { pushes: 0, records: 0 };
  const end = ({ syncId, records }: Announcement, note: (syncId: string) => void): void => {
    held.pushes -= 1;
    held.records -= records.length;
    note(syncId);
  };

  const inTurn = { events: openSemaphore(lanes).run, batches: openSemaphore(lanes).run };
  const announceBatch = async (one: Waiting, stored: StoredEvents): Promise<void> => {
    const isPublished = await tries.patiently(one, async () => {
      await publishBatchOf(options, stored);
      return true;
    });
    end(one.announcement, isPublished === true ? mark : leave);
  };
  const announceEvents = async (one: Waiting): Promise<void> => {
    const stored = await tries.patiently(one, () => publishEvents(options, one.announcement));
    if (stored === undefined) end(one.announcement, leave);
    else follow(inTurn.batches(() => announceBatch(one, stored)));
  };

  return {
    /** Publishes its events soon, unless too many pushes wait for that already. */
    announce(announcement: Announcement): void {
      const { syncId, records } = announcement;
      if (held.pushes >= pushesMax || held.records >= recordsMax) {
        log.warn({ syncId }, 'the announcer is full: a sweeper will publish the events of this push');
        return;
      }
      held.pushes += 1;
      held.records += records.length;
      const one = { announcement, untilMs: performance.now() + triesForMs };
      follow(inTurn.events(() => announceEvents(one)));
    },
    /** Whether the bus has refused something lately, so that there may soon be something for the sweepers. */
    get isHindered() {
      return tries.areHindered;
    },
    [Symbol.asyncDispose]: (): Promise<void> => background[Symbol.asyncDispose](),
  };
}

// Notes in the journal what became of pushes: one update for all that are within a short time.

/** A note can wait a little for the next ones: until then an entry is only announced again by mistake. */
const delayMs = 200;

function openNotes(
  { follow, pause }: Background,
  write: (syncIds: readonly string[]) => Promise<void>,
  onError: (error: unknown, syncIds: readonly string[]) => void,
): (syncId: string) => void {
  const note = openBatcher<string, null>(
    async (syncIds) => {
      await write(syncIds).catch((error: unknown) => onError(error, syncIds));
      return syncIds.map(() => null);
    },
    Infinity,
    oneByOne({ pause: () => pause(delayMs) }),
  );
  return (syncId) => follow(note(syncId));
}

// Work that goes on after its caller has gone on: it is waited for when the process stops.

type Background = ReturnType<typeof openBackground>;

function openBackground() {
  const underWay = new Set<Promise<unknown>>();
  const closing = Promise.withResolvers<void>();
  let isClosing = false;
  return {
    follow(this: void, work: Promise<unknown>): void {
      const followed = work.finally(() => underWay.delete(followed));
      underWay.add(followed);
    },
    /** Shorter where the process stops: from then on, no work waits for anything but its end. */
    pause: (ms: number): Promise<void> =>
      Promise.race([wait(ms, undefined, { ref: false }), closing.promise]),
    get isClosing() {
      return isClosing;
    },
    async [Symbol.asyncDispose](): Promise<void> {
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

function openTries(log: Log, background: Background) {
  let refusedAtMs = -Infinity;
  return {
    /** Undefined where it was refused to the end. */
    async patiently<T>(
      { announcement: { syncId }, untilMs }: Waiting,
      work: () => Promise<T>,
    ): Promise<T | undefined> {
      try {
        return await retry(work, {
          mayRetry(error) {
            refusedAtMs = performance.now();
            if (background.isClosing || !mayTryAgain(error, untilMs)) return false;
            log.debug({ err: error, syncId }, 'not announced yet, trying again');
            return true;
          },
          pause: () => background.pause(againMs),
        });
      } catch (error) {
        log.warn({ err: error, syncId }, 'announcing is left to the sweepers');
        return undefined;
      }
    },
    /** Whether something was refused lately. */
    get areHindered() {
      return performance.now() - refusedAtMs < hinderedMs;
    },
  };
}

const mayTryAgain = (error: unknown, untilMs: number): boolean =>
  error instanceof Failure && error.code === 'unavailable' && performance.now() + againMs < untilMs;
