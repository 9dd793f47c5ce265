// Publishes the events of pushes that were answered, in the background: begun in the order of their completion, some
// at a time. A cluster that is electing a leader takes no event for some seconds, so what fails is tried again for some
// seconds. Where that fails as well, or the process dies, the journal entry stays due, and a sweeper publishes them again
// under the same ids.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Tracing } from '@integration-sync/runtime/tracing';
import type { Announcement } from './announcement.ts';
import type { Clock } from '../clock.ts';
import type { Journal } from '../journal/journal.ts';
import { publishEvents } from './publish-events.ts';
import type { Stage } from '../stage.ts';

export interface Announcer extends AsyncDisposable {
  /** Publishes its events soon, unless too many pushes wait for that already. */
  announce(announcement: Announcement): void;
}

export interface AnnouncerOptions {
  bus: Pick<Bus, 'publishBatch'>;
  journal: Pick<Journal, 'markAnnounced'>;
  log: Log;
  now: Clock;
  reach: (stage: Stage) => Promise<void>;
  tracing?: Tracing | undefined;
}

/** Publishing at once hides the way to the disk and back; more would only hold more memory. */
const lanesMax = 4;
const waitingMax = 2_000;
/** Of the pushes that wait, together: what each holds in memory is its records. */
const waitingRecordsMax = 32_000;
/** How long after its push was answered a first or further try begins. */
const triesForMs = 10_000;
const againMs = 250;
/** Marking can wait a little for the next ones: until then an entry is only announced again by mistake. */
const markDelayMs = 200;

interface Waiting {
  announcement: Announcement;
  /** By `performance.now()`. */
  untilMs: number;
}

export function openAnnouncer(options: AnnouncerOptions): Announcer {
  const { log } = options;
  const waiting: Waiting[] = [];
  let waitingRecords = 0;
  const underWay = new Set<Promise<void>>();
  let busyLanes = 0;
  const closing = Promise.withResolvers<void>();
  let isClosing = false;

  const follow = (work: Promise<void>): void => {
    const followed = work.finally(() => underWay.delete(followed));
    underWay.add(followed);
  };

  const mark = openMarking(options, closing.promise, follow);

  /** False if it is left to the sweeper. */
  const publishPatiently = async ({ announcement, untilMs }: Waiting): Promise<boolean> => {
    const { syncId } = announcement;
    for (;;) {
      try {
        await publishEvents(options, announcement);
        return true;
      } catch (error) {
        if (isClosing || !mayTryAgain(error, untilMs)) {
          log.warn({ err: error, syncId }, 'announcing is left to the sweeper');
          return false;
        }
        log.debug({ err: error, syncId }, 'not announced yet, trying again');
      }
      await Promise.race([wait(againMs, undefined, { ref: false }), closing.promise]);
    }
  };

  const publish = async (one: Waiting): Promise<void> => {
    if (!(await publishPatiently(one))) return;
    mark(one.announcement.syncId);
  };

  const publishAll = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      waitingRecords -= next.announcement.records.length;
      await publish(next);
    }
    busyLanes -= 1;
  };

  return {
    announce(announcement) {
      if (waiting.length >= waitingMax || waitingRecords >= waitingRecordsMax) {
        log.warn({ syncId: announcement.syncId }, 'too much to announce, left to the sweeper');
        return;
      }
      waiting.push({ announcement, untilMs: performance.now() + triesForMs });
      waitingRecords += announcement.records.length;
      if (busyLanes === lanesMax) return;
      busyLanes += 1;
      follow(publishAll());
    },
    async [Symbol.asyncDispose]() {
      isClosing = true;
      closing.resolve();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/** Notes in the journal which pushes are announced: one update for all that are within a short time. */
function openMarking(
  { journal, log, now }: Pick<AnnouncerOptions, 'journal' | 'log' | 'now'>,
  closing: Promise<void>,
  follow: (work: Promise<void>) => void,
): (syncId: string) => void {
  let published: string[] = [];
  let isMarking = false;
  const markAll = async (): Promise<void> => {
    while (published.length > 0) {
      await Promise.race([wait(markDelayMs, undefined, { ref: false }), closing]);
      const syncIds = published;
      published = [];
      await journal
        .markAnnounced(syncIds, new Date(now()))
        .catch((error: unknown) => log.warn({ err: error, syncIds }, 'announced, but not noted as such'));
    }
    isMarking = false;
  };
  return (syncId) => {
    published.push(syncId);
    if (isMarking) return;
    isMarking = true;
    follow(markAll());
  };
}

const mayTryAgain = (error: unknown, untilMs: number): boolean =>
  error instanceof Failure && error.code === 'unavailable' && performance.now() + againMs < untilMs;
