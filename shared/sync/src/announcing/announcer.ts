// Publishes the events of pushes that were answered, in the background: begun in the order of their completion, some
// at a time. A cluster that is electing a leader takes no event for some seconds, so what fails is tried again for some
// seconds. Where that fails as well, the announcer leaves the journal entry to the sweepers, and where the process dies the
// entry is due by itself: a sweeper publishes the events again under the same ids.
//
// Events and event batches stand in two streams, each with a leader of its own. So each has lanes of its own: while one stream
// has no leader, pushes that need the other one do not wait for it.
import type { Announcer as AnnouncingService, StoredEvents } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Tracing } from '@integration-sync/runtime/tracing';
import type { Announcement } from './announcement.ts';
import type { Clock } from '../clock.ts';
import type { Journal } from '../journal/journal.ts';
import { openBackground } from './background.ts';
import { openNotes } from './notes.ts';
import { publishBatchOf, publishEvents } from './publish-events.ts';
import type { Stage } from '../stage.ts';
import { openTries, triesEnd } from './tries.ts';

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
        log.warn({ syncId }, 'too much to announce, left to the sweepers');
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
