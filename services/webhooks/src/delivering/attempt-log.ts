// The attempt log: an entry per attempt, the last 1,000 of each endpoint and often more, in the stream ATTEMPTS.
// attempt-log-writer.ts writes it; here a replica reads it.
import { Failure, type DeliveryAttempt } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Attempted } from '../sending/send.ts';
import { attemptsStream, attemptsSubject } from '../streams/streams.ts';
import {
  entriesPerMessage,
  openAttemptLogWriter,
  type AttemptLogWriter,
  type StoredAttempt,
} from './attempt-log-writer.ts';

export interface LoggedAttempt extends DeliveryAttempt {
  /** In the log; newer entries have greater ones. */
  place: number;
}

export interface AttemptLog extends AttemptLogWriter {
  /** Oldest first. In turn, and not at all where that comes after the given time; epoch milliseconds. */
  read: ReadAttempts;
  /** Those of these events, as they are stored, oldest first; as `read` otherwise. */
  readOf(
    endpoint: Pick<Endpoint, '_id' | 'integration'>,
    eventIds: ReadonlySet<string>,
    until: number,
  ): Promise<readonly StoredAttempt[]>;
  removeEndpoint(endpointId: string): Promise<void>;
}

type ReadAttempts = (
  endpoint: Pick<Endpoint, '_id' | 'integration'>,
  until: number,
) => Promise<readonly LoggedAttempt[]>;

/** The entry of one attempt, of a delivery as of a test. */
export const entryOf = (
  { eventId, event, attempt, point }: Pick<StoredAttempt, 'eventId' | 'event' | 'attempt' | 'point'>,
  { verdict, at, responseStatus, durationMs, error, answer }: Attempted,
  nextAttemptAt: Date | null,
): StoredAttempt => ({
  eventId,
  event,
  attempt,
  at: at.toISOString(),
  outcome: verdict === 'succeeded' ? 'succeeded' : 'failed',
  responseStatus,
  durationMs,
  error,
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  ...(point === undefined ? {} : { point }),
  ...(answer === undefined ? {} : { responseBody: answer.body }),
});

export function openAttemptLog(
  bus: Pick<Bus, 'publishBatch' | 'readStream' | 'purge'>,
  log: Log,
  replica: string,
): AttemptLog {
  const writer = openAttemptLogWriter(bus, log, replica);
  return {
    append: (endpointId, entry) => writer.append(endpointId, entry),
    ...openReading(bus),
    async removeEndpoint(endpointId) {
      await bus.purge(attemptsStream, attemptsSubject(endpointId));
    },
    [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
  };
}

/**
 * Logs that a replica reads at once: a full one takes some ten megabytes of memory until it is answered, and
 * the processor for a while. So there is room for an integration that has none read yet.
 */
const readLimits = { max: 2, perKeyMax: 1 };

/** A reading that waits for its turn: all callers that ask for that log meanwhile share it. */
interface Upcoming {
  entries: Promise<readonly LoggedAttempt[]>;
  /** When the last of them stops waiting. */
  until: number;
}

function openReading(bus: Pick<Bus, 'readStream'>): Pick<AttemptLog, 'read' | 'readOf'> {
  const limit = openSemaphore(readLimits).run;
  /** By endpoint. */
  const upcoming = new Map<string, Upcoming>();

  async function* entriesOf(
    endpointId: string,
    until: number,
  ): AsyncGenerator<{ entry: StoredAttempt; place: number }> {
    // Its callers have stopped waiting, and others wait.
    if (Date.now() > until) throw new Failure('timeout', 'Too many logs are being read.');
    const reading = { subject: attemptsSubject(endpointId), from: { sequence: 1 } };
    for await (const { body, sequence } of bus.readStream(attemptsStream, reading)) {
      const some: StoredAttempt[] = JSON.parse(Buffer.from(body).toString());
      for (const [n, entry] of some.entries()) yield { entry, place: sequence * entriesPerMessage + n };
    }
  }

  /** Without what a listing does not show: of a thousand messages that would be much. */
  const readAll = async (endpointId: string, until: number): Promise<LoggedAttempt[]> => {
    const all: LoggedAttempt[] = [];
    for await (const { entry, place } of entriesOf(endpointId, until)) {
      const { point: _point, responseBody: _body, ...shown } = entry;
      all.push({ ...shown, place });
    }
    return all;
  };

  const readOf: AttemptLog['readOf'] = ({ _id, integration }, eventIds, until) =>
    limit(async () => {
      const found: StoredAttempt[] = [];
      for await (const { entry } of entriesOf(_id, until)) if (eventIds.has(entry.eventId)) found.push(entry);
      return found;
    }, integration);

  const read: ReadAttempts = ({ _id, integration }, until) => {
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
  };
  return { read, readOf };
}
