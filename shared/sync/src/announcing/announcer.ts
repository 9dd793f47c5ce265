// Announces answered pushes in the background: publishes their events, four pushes at a time, in turns over integrations, and in
// the order of completion within an integration. The announcer retries for some seconds, because a NATS cluster stores no message
// while it elects a leader. If the retries fail, the announcer makes the journal entry due for the sweepers; if the process dies,
// the entry becomes due by itself. A sweeper publishes the events under the same ids.
//
// Events and event batches go to two streams with separate leaders. Each stream has its own semaphore, so that a stream without a
// leader does not delay pushes at the other stream.
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
  owner: string;
  log: Log;
  now: Clock;
}

/** How many pushes are announced at a time for each stream: parallel publishing hides the latency of the disk. */
const atOnce = { max: 4 };
const pushesMax = 2_000;
/** How many records all waiting pushes may have together, which bounds the memory of the announcer. */
const recordsMax = 32_000;

interface Waiting {
  announcement: Announcement;
  /** Until when retries may begin, by `performance.now()`. */
  untilMs: number;
}

export function openAnnouncer(options: AnnouncerOptions) {
  const { journal, owner, log, now } = options;
  const background = openBackground();
  const { follow } = background;
  const tries = openTries(log, background);
  const noteAnnounced = openNotes(
    background,
    (syncIds) => journal.markAnnounced(syncIds, new Date(now())),
    (err, syncIds) =>
      log.warn({ err, syncIds }, 'the events of pushes are published, but the journal does not say so yet'),
  );
  const leave = openNotes(
    background,
    (syncIds) => journal.leave(syncIds, owner, new Date(now())),
    (err, syncIds) =>
      log.warn(
        { err, syncIds },
        'the events of pushes are not published: sweepers take over their journal entries once these are due',
      ),
  );
  const held = { pushes: 0, records: 0 };
  const end = ({ syncId, records }: Announcement, note: (syncId: string) => void): void => {
    held.pushes -= 1;
    held.records -= records.length;
    note(syncId);
  };

  const inTurn = { events: openSemaphore(atOnce).run, batches: openSemaphore(atOnce).run };
  const announceBatch = async (one: Waiting, stored: StoredEvents): Promise<void> => {
    const isPublished = await tries.patiently(one, async () => {
      await publishBatchOf(options, stored);
      return true;
    });
    end(one.announcement, isPublished === true ? noteAnnounced : leave);
  };
  const announceEvents = async (one: Waiting): Promise<void> => {
    const stored = await tries.patiently(one, () => publishEvents(options, one.announcement));
    if (stored === undefined) end(one.announcement, leave);
    else follow(inTurn.batches(() => announceBatch(one, stored), one.announcement.integration));
  };

  return {
    /** Publishes the events of the push soon. If too many pushes wait, a sweeper does so later. */
    announce(announcement: Announcement): void {
      const { syncId, integration, records } = announcement;
      if (held.pushes >= pushesMax || held.records >= recordsMax) {
        log.warn(
          { syncId },
          'too many pushes have unpublished events: a sweeper will publish the events of this push',
        );
        return;
      }
      held.pushes += 1;
      held.records += records.length;
      const one = { announcement, untilMs: performance.now() + triesForMs };
      follow(inTurn.events(() => announceEvents(one), integration));
    },
    /** Whether a publish failed in the last 15 s, so that the sweepers may soon have entries to settle. */
    get isHindered() {
      return tries.areHindered;
    },
    [Symbol.asyncDispose]: (): Promise<void> => background[Symbol.asyncDispose](),
  };
}

// Updates the journal entries of announced pushes, and of pushes whose announcement failed: one update for all pushes of 200 ms.

/** How long an update waits for further pushes; if the process dies meanwhile, a sweeper announces a push again. */
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

// Background work. A process that stops waits for the end of this work.

type Background = ReturnType<typeof openBackground>;

function openBackground() {
  const underWay = new Set<Promise<unknown>>();
  const closing = new AbortController();
  const { signal } = closing;
  return {
    signal,
    follow(this: void, work: Promise<unknown>): void {
      const followed = work.finally(() => underWay.delete(followed));
      underWay.add(followed);
    },
    /** A pause that ends early when the process stops. */
    pause: (ms: number): Promise<void> => wait(ms, undefined, { ref: false, signal }).catch(() => undefined),
    async [Symbol.asyncDispose](): Promise<void> {
      closing.abort();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/** How long after the answer of a push this process may begin to publish its events, for the first time or again. */
const triesForMs = 10_000;
const againMs = 250;
/** How long after a failed publish sweepers run every 1 to 2 s, to take the entry over soon. */
const hinderedMs = 15_000;

function openTries(log: Log, background: Background) {
  let refusedAtMs = -Infinity;
  return {
    /** Resolves with undefined if the last retry failed too, or if `untilMs` has passed before the first try. */
    async patiently<T>(
      { announcement: { syncId }, untilMs }: Waiting,
      work: () => Promise<T>,
    ): Promise<T | undefined> {
      if (performance.now() > untilMs) {
        // The push waited so long for its turn that a sweeper may publish its events already.
        refusedAtMs = performance.now();
        return undefined;
      }
      try {
        return await retry(work, {
          mayRetry(error) {
            refusedAtMs = performance.now();
            if (background.signal.aborted || !mayTryAgain(error, untilMs)) return false;
            log.debug({ err: error, syncId }, 'the events of a push are not published yet, trying again');
            return true;
          },
          pause: () => background.pause(againMs),
        });
      } catch (error) {
        log.warn({ err: error, syncId }, 'a push is not announced: a sweeper will publish its events');
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
