// Writes the attempt log: a batch at a time, several entries of one endpoint in one message, because the disk is synced
// once per batch. A process that is killed loses the entries of its last tenth of a second, and no others.
import type { DeliveryAttempt } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openWatch } from '@integration-sync/runtime/watch';
import type { LogPoint } from '../log/offset.ts';
import { attemptsSubject } from '../streams/streams.ts';

/** An entry as it is stored. */
export interface StoredAttempt extends DeliveryAttempt {
  /** Where the log of event batches has the event as it was sent; a test is in none. */
  point?: LogPoint;
  /** How a failed answer began. */
  responseBody?: string;
}

export interface AttemptLogWriter extends AsyncDisposable {
  append(endpointId: string, entry: StoredAttempt): void;
}

const flushMs = 100;
/** The stream keeps 1,000 messages of each endpoint, so this bounds what reading its log takes. */
export const entriesPerMessage = 16;
const messagesPerBatch = 500;
/** Beyond this the bus has been away for long; the log gives way before memory does. */
const waitingMax = 20_000;
const linesEveryFailures = 50;

export function openAttemptLogWriter(
  bus: Pick<Bus, 'publishBatch'>,
  log: Log,
  replica: string,
): AttemptLogWriter {
  const entries = openEntries(replica);
  let messages: Message[] = [];
  let dropped = 0;
  let failures = 0;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    if (messages.length < messagesPerBatch) messages = [...messages, ...entries.takeAll()];
    try {
      while (messages.length > 0) {
        const batch = messages.slice(0, messagesPerBatch);
        await bus.publishBatch(batch);
        messages = messages.slice(batch.length);
      }
    } catch (error) {
      if (failures % linesEveryFailures === 0)
        log.warn({ err: error, waiting: messages.length }, 'the attempt log is not written, trying again');
      failures += 1;
      return;
    }
    if (dropped > 0) log.warn({ dropped }, 'entries of the attempt log were dropped');
    dropped = 0;
    failures = 0;
  };
  const flush = async (): Promise<void> => {
    writing ??= write().finally(() => (writing = undefined));
    await writing;
  };
  const watch = openWatch(flushMs, () => {
    if (entries.count === 0 && messages.length === 0 && writing === undefined) return false;
    void flush();
    return true;
  });

  return {
    append(endpointId, entry) {
      if (entries.count < waitingMax) entries.add(endpointId, entry);
      else dropped += 1;
      watch.begin();
    },
    async [Symbol.asyncDispose]() {
      watch[Symbol.dispose]();
      // A write may be under way that began before the last entries came.
      await flush();
      await flush();
    },
  };
}

interface Message {
  subject: string;
  id: string;
  body: string;
}

/** Entries that are in no message yet, by endpoint. */
interface Entries {
  readonly count: number;
  add(endpointId: string, entry: StoredAttempt): void;
  /** The messages that contain them all; none is left. */
  takeAll(): Generator<Message>;
}

function openEntries(replica: string): Entries {
  const byEndpoint = new Map<string, StoredAttempt[]>();
  let count = 0;
  /** How many messages this replica has made, which gives each an id of its own. */
  let made = 0;
  return {
    get count() {
      return count;
    },
    add(endpointId, entry) {
      count += 1;
      const others = byEndpoint.get(endpointId);
      if (others === undefined) byEndpoint.set(endpointId, [entry]);
      else others.push(entry);
    },
    *takeAll() {
      for (const [endpointId, all] of byEndpoint) {
        for (let from = 0; from < all.length; from += entriesPerMessage) {
          const body = JSON.stringify(all.slice(from, from + entriesPerMessage));
          made += 1;
          yield { subject: attemptsSubject(endpointId), id: `${replica}.${made}`, body };
        }
      }
      byEndpoint.clear();
      count = 0;
    },
  };
}
