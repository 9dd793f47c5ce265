// Publishes the events of pushes that were answered, in the background: begun in the order of their completion, some
// at a time. A cluster that is electing a leader takes no event for some seconds, so what fails is tried again for some
// seconds. Where that fails as well, or the process dies, the journal entry stays due, and a sweeper publishes them again
// under the same ids.
//
// Events and bundles stand in two streams, each with a leader of its own. So each has lanes of its own: while one stream
// has no leader, pushes that need the other one do not wait for it.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure, type StoredEvents } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Tracing } from '@integration-sync/runtime/tracing';
import type { Announcement } from './announcement.ts';
import type { Clock } from '../clock.ts';
import type { Journal } from '../journal/journal.ts';
import { openLanes } from './lanes.ts';
import { publishBundle, publishEvents } from './publish-events.ts';
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

/** Of events, and of bundles. Publishing at once hides the way to the disk and back; more would only hold more memory. */
const lanesMax = 4;
const pushesMax = 2_000;
/** Of these pushes together: what each holds in memory is its records, or their events. */
const recordsMax = 32_000;
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

interface WithoutBundle extends Waiting {
  stored: StoredEvents;
}

export function openAnnouncer(options: AnnouncerOptions): Announcer {
  const { log } = options;
  const held = { pushes: 0, records: 0 };
  const underWay = new Set<Promise<void>>();
  const closing = Promise.withResolvers<void>();
  let isClosing = false;

  const follow = (work: Promise<void>): void => {
    const followed = work.finally(() => underWay.delete(followed));
    underWay.add(followed);
  };

  const mark = openMarking(options, closing.promise, follow);

  const hold = ({ records }: Announcement): void => {
    held.pushes += 1;
    held.records += records.length;
  };
  const letGo = ({ records }: Announcement): void => {
    held.pushes -= 1;
    held.records -= records.length;
  };

  /** Undefined if it is left to the sweeper. */
  const patiently = async <T>(
    { announcement: { syncId }, untilMs }: Waiting,
    publish: () => Promise<T>,
  ): Promise<{ result: T } | undefined> => {
    for (;;) {
      try {
        return { result: await publish() };
      } catch (error) {
        if (isClosing || !mayTryAgain(error, untilMs)) {
          log.warn({ err: error, syncId }, 'announcing is left to the sweeper');
          return undefined;
        }
        log.debug({ err: error, syncId }, 'not announced yet, trying again');
      }
      await Promise.race([wait(againMs, undefined, { ref: false }), closing.promise]);
    }
  };

  const bundles = openLanes<WithoutBundle>({
    lanesMax,
    follow,
    async work(one) {
      const published = await patiently(one, () => publishBundle(options, one.stored));
      letGo(one.announcement);
      if (published !== undefined) mark(one.announcement.syncId);
    },
  });

  const events = openLanes<Waiting>({
    lanesMax,
    follow,
    async work(one) {
      const published = await patiently(one, () => publishEvents(options, one.announcement));
      if (published === undefined) letGo(one.announcement);
      else bundles.add({ ...one, stored: published.result });
    },
  });

  return {
    announce(announcement) {
      if (held.pushes >= pushesMax || held.records >= recordsMax) {
        log.warn({ syncId: announcement.syncId }, 'too much to announce, left to the sweeper');
        return;
      }
      hold(announcement);
      events.add({ announcement, untilMs: performance.now() + triesForMs });
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
