// The attempt log: an entry per attempt, the last 1,000 of each endpoint and often more, in the stream ATTEMPTS.
// Entries are written a batch at a time, several of one endpoint in one message, because the disk is synced once
// per batch; a process that is killed loses those of its last tenth of a second, and nothing but those.
import { Failure, type DeliveryAttempt } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Attempted } from '../sending/send.ts';
import { attemptsSubject } from '../streams/messages.ts';
import { attemptsStream } from '../streams/streams.ts';
import { openLimiter } from '../tools/limiter.ts';

export interface LoggedAttempt extends DeliveryAttempt {
  /** In the log; newer entries have greater ones. */
  place: number;
}

export interface AttemptLog extends AsyncDisposable {
  append(endpointId: string, entry: DeliveryAttempt): void;
  /** Oldest first. In turn, and not at all where that comes after the given time; epoch milliseconds. */
  read(endpoint: Pick<Endpoint, '_id' | 'integration'>, until: number): Promise<readonly LoggedAttempt[]>;
  removeEndpoint(endpointId: string): Promise<void>;
}

/** The entry of one attempt, of a delivery as of a test. */
export const entryOf = (
  { eventId, event, attempt }: Pick<DeliveryAttempt, 'eventId' | 'event' | 'attempt'>,
  { verdict, at, responseStatus, durationMs, error }: Attempted,
  nextAttemptAt: Date | null,
): DeliveryAttempt => ({
  eventId,
  event,
  attempt,
  at: at.toISOString(),
  outcome: verdict === 'succeeded' ? 'succeeded' : 'failed',
  responseStatus,
  durationMs,
  error,
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
});

const flushMs = 100;
/** The stream keeps 1,000 messages of each endpoint, so this bounds what reading its log takes. */
const entriesPerMessage = 16;
const messagesPerBatch = 500;
/** Beyond this the bus has been away for long; the log gives way before memory does. */
const waitingMax = 20_000;
const linesEveryFailures = 50;

/**
 * Logs that are read at once: a full one takes some ten megabytes of memory until it is answered, and the processor
 * for a while. So there is room for an integration that has none read yet.
 */
const readLimits = { max: 2, perIntegrationMax: 1 };

type LogBus = Pick<Bus, 'publishBatch' | 'readStream' | 'purge'>;

/** A reading that waits for its turn: all callers that ask for that log meanwhile share it. */
interface Upcoming {
  entries: Promise<readonly LoggedAttempt[]>;
  /** When the last of them stops waiting. */
  until: number;
}

interface Message {
  subject: string;
  id: string;
  body: string;
}

export function openAttemptLog(bus: LogBus, log: Log, replica: string): AttemptLog {
  const entries = new Map<string, DeliveryAttempt[]>();
  let waiting = 0;
  let messages: Message[] = [];
  let count = 0;
  let dropped = 0;
  let failures = 0;
  let writing: Promise<void> | undefined;
  const limit = openLimiter(readLimits);
  const upcoming = new Map<string, Upcoming>();

  const gather = (): void => {
    for (const [endpointId, all] of entries) {
      for (let from = 0; from < all.length; from += entriesPerMessage) {
        const body = JSON.stringify(all.slice(from, from + entriesPerMessage));
        count += 1;
        messages.push({ subject: attemptsSubject(endpointId), id: `${replica}.${count}`, body });
      }
    }
    entries.clear();
    waiting = 0;
  };
  const write = async (): Promise<void> => {
    if (messages.length < messagesPerBatch) gather();
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
  const flushing = setInterval(() => void flush(), flushMs);

  const readAll = async (endpointId: string, until: number): Promise<LoggedAttempt[]> => {
    // Its callers have stopped waiting, and others wait.
    if (Date.now() > until) throw new Failure('timeout', 'Too many logs are being read.');
    const all: LoggedAttempt[] = [];
    const reading = { subject: attemptsSubject(endpointId), from: { sequence: 1 } };
    for await (const { body, sequence } of bus.readStream(attemptsStream, reading)) {
      const some: DeliveryAttempt[] = JSON.parse(Buffer.from(body).toString());
      for (const [n, entry] of some.entries())
        all.push({ ...entry, place: sequence * entriesPerMessage + n });
    }
    return all;
  };

  return {
    append(endpointId, entry) {
      if (waiting >= waitingMax) {
        dropped += 1;
        return;
      }
      waiting += 1;
      const others = entries.get(endpointId);
      if (others === undefined) entries.set(endpointId, [entry]);
      else others.push(entry);
    },
    read({ _id, integration }, until) {
      const others = upcoming.get(_id);
      if (others !== undefined) {
        others.until = Math.max(others.until, until);
        return others.entries;
      }
      const reading: Upcoming = {
        until,
        entries: limit(() => {
          upcoming.delete(_id);
          return readAll(_id, reading.until);
        }, integration),
      };
      upcoming.set(_id, reading);
      return reading.entries;
    },
    async removeEndpoint(endpointId) {
      await bus.purge(attemptsStream, attemptsSubject(endpointId));
    },
    async [Symbol.asyncDispose]() {
      clearInterval(flushing);
      await flush();
      await flush();
    },
  };
}
