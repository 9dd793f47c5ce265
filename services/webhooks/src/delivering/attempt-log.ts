// The attempt log: an entry per attempt, the last 1,000 of each endpoint and often more, in the stream ATTEMPTS.
// attempt-log-writer.ts writes it; here a replica reads it.
import { Failure, type DeliveryAttempt } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Attempted } from '../sending/send.ts';
import { attemptsStream, attemptsSubject } from '../streams/streams.ts';
import { openLimiter } from '../tools/limiter.ts';
import { entriesPerMessage, openAttemptLogWriter, type AttemptLogWriter } from './attempt-log-writer.ts';

export interface LoggedAttempt extends DeliveryAttempt {
  /** In the log; newer entries have greater ones. */
  place: number;
}

export interface AttemptLog extends AttemptLogWriter {
  /** Oldest first. In turn, and not at all where that comes after the given time; epoch milliseconds. */
  read: ReadAttempts;
  removeEndpoint(endpointId: string): Promise<void>;
}

type ReadAttempts = (
  endpoint: Pick<Endpoint, '_id' | 'integration'>,
  until: number,
) => Promise<readonly LoggedAttempt[]>;

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

export function openAttemptLog(
  bus: Pick<Bus, 'publishBatch' | 'readStream' | 'purge'>,
  log: Log,
  replica: string,
): AttemptLog {
  const writer = openAttemptLogWriter(bus, log, replica);
  return {
    append: (endpointId, entry) => writer.append(endpointId, entry),
    read: openReading(bus),
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
const readLimits = { max: 2, perIntegrationMax: 1 };

/** A reading that waits for its turn: all callers that ask for that log meanwhile share it. */
interface Upcoming {
  entries: Promise<readonly LoggedAttempt[]>;
  /** When the last of them stops waiting. */
  until: number;
}

function openReading(bus: Pick<Bus, 'readStream'>): ReadAttempts {
  const limit = openLimiter(readLimits);
  /** By endpoint. */
  const upcoming = new Map<string, Upcoming>();

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

  return ({ _id, integration }, until) => {
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
}
