// Publishes the events of pushes that were answered, in the background: begun in the order of their completion, some
// at a time. Where that fails, or the process dies, the journal entry stays due, and a sweeper publishes them again under the
// same ids.
import { setTimeout as wait } from 'node:timers/promises';
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
const waitingMax = 64;
/** Marking can wait a little for the next ones: until then an entry is only announced again by mistake. */
const markDelayMs = 200;

export function openAnnouncer(options: AnnouncerOptions): Announcer {
  const { journal, log, now } = options;
  const waiting: Announcement[] = [];
  const underWay = new Set<Promise<void>>();
  let busyLanes = 0;
  const closing = Promise.withResolvers<void>();
  let published: string[] = [];
  let marking: Promise<void> | undefined;

  const follow = (work: Promise<void>): void => {
    const followed = work.finally(() => underWay.delete(followed));
    underWay.add(followed);
  };

  /** One update for all that are published within a short time. */
  const mark = async (): Promise<void> => {
    while (published.length > 0) {
      await Promise.race([wait(markDelayMs, undefined, { ref: false }), closing.promise]);
      const syncIds = published;
      published = [];
      await journal
        .markAnnounced(syncIds, new Date(now()))
        .catch((error: unknown) => log.warn({ err: error, syncIds }, 'announced, but not noted as such'));
    }
    marking = undefined;
  };

  const publish = async (announcement: Announcement): Promise<void> => {
    const { syncId } = announcement;
    try {
      await publishEvents(options, announcement);
    } catch (error) {
      log.warn({ err: error, syncId }, 'announcing is left to the sweeper');
      return;
    }
    published.push(syncId);
    if (marking === undefined) follow((marking = mark()));
  };

  const publishAll = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await publish(next);
    busyLanes -= 1;
  };

  return {
    announce(announcement) {
      if (waiting.length >= waitingMax) {
        log.warn({ syncId: announcement.syncId }, 'too much to announce, left to the sweeper');
        return;
      }
      waiting.push(announcement);
      if (busyLanes === lanesMax) return;
      busyLanes += 1;
      follow(publishAll());
    },
    async [Symbol.asyncDispose]() {
      closing.resolve();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
