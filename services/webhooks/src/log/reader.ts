// Reads the log for this replica: the partitions that it owns, in order, each from its floor on. Which these are changes
// rarely; then reading begins anew, and what was read before is passed over.
import { eventBatchesStream, partitionFilter } from '@integration-sync/contracts';
import type { Bus, FollowedMessage, Reading } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { readBatch, type LoggedBatch } from './batch.ts';

export interface LogReader extends AsyncDisposable {
  /** Reads these from now on, each from the sequence after its floor, beside those that it reads already. */
  add(floors: ReadonlyMap<number, number>): Promise<void>;
  /** Resolves with how far each was read. */
  remove(partitions: Iterable<number>): Promise<Map<number, number>>;
  /** All of the partition up to there was read and taken; undefined where it is not read here. */
  readThrough(partition: number): number | undefined;
  readonly failingForMs: number;
}

export interface LogReaderOptions {
  bus: Pick<Bus, 'follow' | 'streamFacts'>;
  /** Those that came together, in order. Where it fails the process stops, and they are left to the next owner. */
  take: (batches: readonly LoggedBatch[]) => Promise<void>;
  /** Whether the log is still the one that the floors are of. Otherwise reading is stopped soon. */
  isSameStream: () => Promise<boolean>;
  /** Makes the stream again, should nats-server have lost it. */
  ensure: () => Promise<void>;
  log: Log;
}

/** How many messages are asked for ahead of being taken, and how many bytes of them may wait. */
const ahead = 256;
const waitingBytesMax = 8 * 1024 * 1024;
/** How often idle partitions follow the end of the log. */
const idleMs = 5_000;

export function openLogReader({ bus, take, isSameStream, ensure, log }: LogReaderOptions): LogReader {
  /** By partition: all of it up to there was read, before the present reading began. */
  const before = new Map<number, number>();
  let reading: Reading | undefined;
  /** Of the present reading: all up to there came, and was taken. */
  let through = 0;
  /** Of the present reading: what came last, and may not be taken yet. */
  let received = 0;
  let waiting: LoggedBatch[] = [];
  let waitingBytes = 0;
  let working: Promise<void> | undefined;
  let changing = Promise.resolve();
  let hasFailed = false;

  const workOn = async (): Promise<void> => {
    // What comes together is looked up together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0 && !hasFailed) {
      const batches = waiting;
      [waiting, waitingBytes] = [[], 0];
      try {
        await take(batches);
        through = Math.max(through, batches.at(-1)?.sequence ?? 0);
      } catch (error) {
        hasFailed = true;
        log.debug({ err: error }, 'event batches are left to the next owner');
      }
    }
    working = undefined;
  };

  const onMessage = (message: FollowedMessage): Promise<void> | undefined => {
    const batch = readBatch(message, log);
    if (batch === undefined) {
      log.error({ subject: message.subject, sequence: message.sequence }, 'not an event batch');
      return undefined;
    }
    received = batch.sequence;
    if (hasFailed || batch.sequence <= (before.get(batch.partition) ?? Infinity)) return undefined;
    waiting.push(batch);
    waitingBytes += batch.bytes;
    working ??= workOn();
    return waitingBytes > waitingBytesMax || waiting.length > ahead ? working : undefined;
  };

  const readThrough = (partition: number): number | undefined => {
    const least = before.get(partition);
    return least === undefined ? undefined : Math.max(least, through);
  };

  const stop = async (): Promise<void> => {
    await reading?.[Symbol.asyncDispose]();
    reading = undefined;
    await working;
    for (const partition of before.keys()) before.set(partition, readThrough(partition) ?? 0);
  };

  const begin = (): void => {
    if (before.size === 0) return;
    through = Math.min(...before.values());
    received = through;
    const filters = Array.from(before.keys(), partitionFilter);
    reading = bus.follow(eventBatchesStream, {
      filters,
      async from() {
        if (!(await isSameStream())) throw new Error('the log was made again');
        return received + 1;
      },
      ahead,
      onMessage,
      ensure,
    });
  };

  /** One change after another. */
  const change = (work: () => void): Promise<void> => {
    changing = changing.then(async () => {
      await stop();
      work();
      begin();
    });
    return changing;
  };

  /** Where nothing of its partitions is left to read, what the log has by then is behind this reader. */
  const followEnd = async (): Promise<void> => {
    const now = reading;
    if (now === undefined) return;
    if (!(await isSameStream())) return;
    const { lastSequence } = await bus.streamFacts(eventBatchesStream);
    if (!(await now.isAtEnd()) || now !== reading || working !== undefined || hasFailed) return;
    through = Math.max(through, lastSequence);
    received = Math.max(received, through);
  };
  const ends = openPeriodicCheck(followEnd, { what: 'the end of the log', everyMs: idleMs, log });

  return {
    add: (floors) =>
      change(() => {
        for (const [partition, floor] of floors) before.set(partition, floor);
      }),
    async remove(partitions) {
      const removed = new Map<number, number>();
      await change(() => {
        for (const partition of partitions) {
          const floor = before.get(partition);
          if (floor !== undefined) removed.set(partition, floor);
          before.delete(partition);
        }
      });
      return removed;
    },
    readThrough,
    get failingForMs() {
      return reading?.failingForMs ?? 0;
    },
    async [Symbol.asyncDispose]() {
      // A stop does not wait for NATS.
      void ends[Symbol.asyncDispose]();
      await changing;
      await stop();
    },
  };
}
