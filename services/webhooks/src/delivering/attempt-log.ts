// The attempt log: an entry per attempt, the last 1,000 of each endpoint and often more, in the stream ATTEMPTS. Answers of
// receivers have other subjects of the stream (answers.ts). A message has several entries of one endpoint, and nats-server syncs
// its disk once for a batch of messages. A killed process loses only the entries of its last tenth of a second.
import { type DeliveryAttempt, Failure } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { openWatch } from '@integration-sync/runtime/watch';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { StreamEvent } from '../log/logged-batch.ts';
import type { LogPoint } from '../log/offsets.ts';
import type { Attempted } from '../sending/send.ts';
import { type Answered, type AnswersBus, inMessages, itemsPerMessage, openAnswers } from './answers.ts';
import { attemptsStream, attemptsSubject } from '../streams.ts';

export interface LoggedAttempt extends DeliveryAttempt {
  /** Orders the entries of an attempt log: a newer entry has a greater ordinal. */
  ordinal: number;
}

export interface ReportedAttempt {
  endpoint: Answered['endpoint'];
  event: Pick<StreamEvent, 'eventId' | 'event' | 'timestamp'>;
  /** The number of the attempt: 1 for an event's first attempt. */
  number: number;
  attempted: Attempted;
  nextAttemptAt: Date | null;
  /** The point of the event in the log of event batches. Absent for a test delivery, whose event is not in the log. */
  point?: LogPoint;
}

const entryOf = ({ event, number, attempted, nextAttemptAt, point }: ReportedAttempt): StoredAttempt => ({
  eventId: event.eventId,
  event: event.event,
  attempt: number,
  at: attempted.at.toISOString(),
  outcome: attempted.verdict === 'succeeded' ? 'succeeded' : 'failed',
  responseStatus: attempted.responseStatus,
  durationMs: attempted.durationMs,
  error: attempted.error,
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  ...(point === undefined ? {} : { point }),
});

/** The answer of the receiver; undefined if the attempt succeeded or got no answer. */
function answerOf({ endpoint, event, number, attempted }: ReportedAttempt): Answered | undefined {
  const { answer, at } = attempted;
  if (answer === undefined) return undefined;
  const { eventId, timestamp: occurredAt } = event;
  return { endpoint, occurredAt, eventId, attempt: number, at: at.toISOString(), responseBody: answer.body };
}

type Answers = ReturnType<typeof openAnswers>;
export type AttemptLog = ReturnType<typeof openAttemptLog>;

export const openAttemptLog = (
  bus: AnswersBus,
  endpoints: Pick<Endpoints, 'findAll'>,
  log: Log,
  replica: string,
) => {
  const answers = openAnswers(bus, endpoints, replica);
  const writer = openAttemptLogWriter(bus, log, replica, answers);
  return {
    append: (ended: ReportedAttempt): void =>
      writer.append(ended.endpoint._id, entryOf(ended), answerOf(ended)),
    [Symbol.asyncDispose]: writer[Symbol.asyncDispose],
    ...openReading(bus, answers),
    forgetAnswers: answers.forget,
    async removeEndpoint(endpointId: string): Promise<void> {
      await bus.purge(attemptsStream, attemptsSubject(endpointId));
      await answers.forget([endpointId]);
    },
  };
};

type Read = Pick<Endpoint, '_id' | 'integration'>;

/** Two attempt logs of different integrations are read at a time: a full log takes ten megabytes until the answer is sent. */
const readLimits = { max: 2, perKeyMax: 1 };

/** A read of an attempt log that waits for its turn. All callers that ask for the same attempt log meanwhile share the read. */
interface Upcoming {
  entries: Promise<readonly LoggedAttempt[]>;
  /** When the last of the callers that share the read stops waiting. */
  until: number;
}

function openReading(bus: Pick<Bus, 'readStream'>, answers: Pick<Answers, 'join'>) {
  const limit = openSemaphore(readLimits).run;
  const upcoming = new Map<string, Upcoming>();

  async function* entriesOf(
    endpointId: string,
    until: number,
  ): AsyncGenerator<{ entry: StoredAttempt; ordinal: number }> {
    if (performance.now() > until) throw new Failure('timeout', 'Too many attempt logs are being read.');
    const reading = { subject: attemptsSubject(endpointId), from: { sequence: 1 } };
    for await (const { body, sequence } of bus.readStream(attemptsStream, reading)) {
      const some: StoredAttempt[] = JSON.parse(Buffer.from(body).toString());
      for (const [n, entry] of some.entries()) yield { entry, ordinal: sequence * itemsPerMessage + n };
    }
  }

  /** Leaves out the fields that a listing does not show: the answers of all attempts take much memory. */
  const readAll = async (endpointId: string, until: number): Promise<LoggedAttempt[]> => {
    const all: LoggedAttempt[] = [];
    for await (const { entry, ordinal } of entriesOf(endpointId, until)) {
      const { point: _point, responseBody: _body, ...shown } = entry;
      all.push({ ...shown, ordinal });
    }
    return all;
  };

  /** The entries of these events. Throws, like `read`, if the read cannot begin before `until`. */
  const readOf = (
    { _id, integration }: Read,
    eventIds: ReadonlySet<string>,
    until: number,
  ): Promise<readonly StoredAttempt[]> =>
    limit(async () => {
      const found: StoredAttempt[] = [];
      for await (const { entry } of entriesOf(_id, until)) if (eventIds.has(entry.eventId)) found.push(entry);
      return answers.join(_id, found);
    }, integration);

  /** All entries, oldest first. Throws if the read cannot begin before `until`, a time of `performance.now()`. */
  const read = ({ _id, integration }: Read, until: number): Promise<readonly LoggedAttempt[]> => {
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

export interface StoredAttempt extends DeliveryAttempt {
  point?: LogPoint;
  /** The answer to a failed attempt, which `join` of answers.ts adds. Release 1.1.0 stored the answer in the entry. */
  responseBody?: string;
}

const flushMs = 100;
const messagesPerBatch = 500;
/** How many entries may wait to be stored. When more wait, after a long outage of NATS, new entries are dropped. */
const waitingMax = 20_000;
const linesEveryFailures = 50;

export function openAttemptLogWriter(
  bus: Pick<Bus, 'publishBatch'>,
  log: Log,
  replica: string,
  answers: Pick<Answers, 'append' | 'waiting' | 'write'>,
) {
  /** Entries of attempt logs that are not yet packed into messages, by endpoint. */
  const entries = new Map<string, StoredAttempt[]>();
  let count = 0;
  /** Numbers the messages of this replica. By the id with the number, nats-server drops a message that is published again. */
  let made = 0;
  const nextId = (): string => `${replica}.${(made += 1)}`;
  let messages: ReturnType<typeof inMessages> = [];
  let dropped = 0;
  let failures = 0;
  let writing: Promise<void> | undefined;

  const pack = (): void => {
    messages.push(...inMessages(entries, attemptsSubject, nextId));
    entries.clear();
    count = 0;
  };
  const write = async (): Promise<void> => {
    if (messages.length < messagesPerBatch) pack();
    try {
      while (messages.length > 0) {
        const batch = messages.slice(0, messagesPerBatch);
        await bus.publishBatch(batch);
        messages = messages.slice(batch.length);
      }
      await answers.write();
    } catch (error) {
      if (failures % linesEveryFailures === 0)
        log.warn({ err: error, waiting: messages.length }, 'the attempt log cannot be written, trying again');
      failures += 1;
      return;
    }
    if (dropped > 0) log.warn({ dropped }, 'entries of the attempt log were dropped: too many waited');
    dropped = 0;
    failures = 0;
  };
  const flush = (): Promise<void> => (writing ??= write().finally(() => (writing = undefined)));
  const watch = openWatch(flushMs, () => {
    const isIdle = count === 0 && messages.length === 0 && answers.waiting === 0;
    if (isIdle && writing === undefined) return false;
    void flush();
    return true;
  });

  return {
    append(endpointId: string, entry: StoredAttempt, answered?: Answered): void {
      watch.begin();
      if (answered !== undefined) answers.append(answered);
      if (count >= waitingMax) {
        dropped += 1;
        return;
      }
      count += 1;
      entries.getOrInsertComputed(endpointId, () => []).push(entry);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      watch[Symbol.dispose]();
      // Flushes twice: the first flush may only wait for a write that began before the last entries were appended.
      await flush();
      await flush();
    },
  };
}
