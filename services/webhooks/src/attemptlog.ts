// The attempt log: one entry per attempt, the last 1,000 of each endpoint, in the stream ATTEMPTS. Entries are
// written a batch at a time, because the disk is synced once per batch; a process that is killed loses those of
// its last tenth of a second, and nothing but those.
import type { DeliveryAttempt } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Bus } from '@integration-sync/runtime/bus';
import { attemptsSubject } from './envelope.ts';
import { attemptsStream } from './streams.ts';

export interface LoggedAttempt extends DeliveryAttempt {
  sequence: number;
}

export interface AttemptLog extends AsyncDisposable {
  append(endpointId: string, entry: DeliveryAttempt): void;
  /** Oldest first. */
  read(endpointId: string): Promise<LoggedAttempt[]>;
  removeEndpoint(endpointId: string): Promise<void>;
}

const flushMs = 100;
const batchMax = 500;
/** Beyond this the bus has been away for long; the log gives way before memory does. */
const waitingMax = 20_000;

type LogBus = Pick<Bus, 'publishBatch' | 'readStream' | 'purge'>;

export function openAttemptLog(bus: LogBus, log: Log, replica: string): AttemptLog {
  let waiting: { subject: string; id: string; body: string }[] = [];
  let count = 0;
  let dropped = 0;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      try {
        await bus.publishBatch(batch);
        waiting = waiting.slice(batch.length);
      } catch (error) {
        log.debug({ err: error }, 'the attempt log is not written, trying again');
        return;
      }
    }
    if (dropped > 0) log.warn({ dropped }, 'entries of the attempt log were dropped');
    dropped = 0;
  };
  const flush = async (): Promise<void> => {
    writing ??= write().finally(() => (writing = undefined));
    await writing;
  };
  const flushing = setInterval(() => void flush(), flushMs);

  return {
    append(endpointId, entry) {
      if (waiting.length >= waitingMax) {
        dropped += 1;
        return;
      }
      count += 1;
      waiting.push({
        subject: attemptsSubject(endpointId),
        id: `${replica}.${count}`,
        body: JSON.stringify(entry),
      });
    },
    async read(endpointId) {
      const entries: LoggedAttempt[] = [];
      const reading = { subject: attemptsSubject(endpointId), from: { sequence: 1 } };
      for await (const { body, sequence } of bus.readStream(attemptsStream, reading)) {
        const entry: DeliveryAttempt = JSON.parse(Buffer.from(body).toString());
        entries.push({ ...entry, sequence });
      }
      return entries;
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
