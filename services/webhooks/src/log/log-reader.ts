// Reads the owned partitions of the log in order, each from its floor on. When the set of partitions changes, a new reading begins
// and skips the messages that were read before.
import {
  allStoredBatches,
  eventBatchesStream,
  partitionFilter,
  readStoredBatchSubject,
} from '@integration-sync/contracts';
import type { Bus, FollowedMessage, Reading } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck, type PeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { readBatch, type LoggedBatch } from './logged-batch.ts';
import type { LogStream, LogStreamFacts } from './stream.ts';

export interface ReadPartition {
  partition: number;
  /** The id of the log to which `through` belongs. */
  stream: string;
  /** The sequence up to which `LogReaderOptions.take` has finished the partition's batches. */
  through: number;
}

interface LogReaderOptions {
  bus: Pick<Bus, 'follow' | 'hasAfter'>;
  stream: Pick<LogStream, 'look' | 'refresh' | 'saw'>;
  /** Queues batches for delivery, in order. Rejects only when the process stops: then the next owner reads the batches. */
  take: (batches: readonly LoggedBatch[]) => Promise<void>;
  ensure: () => Promise<void>;
  log: Log;
}

/** How many messages, and how many bytes of messages, may wait for `take`. */
const ahead = 256;
const waitingBytesMax = 8 * 1024 * 1024;
/** How often the floors of idle partitions move to the end of the log. */
const idleMs = 5_000;

export class LogReader implements AsyncDisposable {
  readonly #options: LogReaderOptions;
  readonly #partitions = new Map<number, ReadPartition>();
  #reading: Reading | undefined;
  /** The last sequence that was received. Its batch may still wait for `take`. */
  #received = 0;
  /** The id of the log to which the partitions belong. */
  #streamId = '';
  #waiting: LoggedBatch[] = [];
  #waitingBytes = 0;
  #working: Promise<void> | undefined;
  readonly #inTurn = openSemaphore({ max: 1 }).run;
  #hasFailed = false;
  readonly #ends: PeriodicCheck;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    const followEnd = { what: 'the end of the log', everyMs: idleMs, log: options.log };
    this.#ends = openPeriodicCheck(() => this.#followEnd(), followEnd);
  }

  get failingForMs(): number {
    return this.#reading?.failingForMs ?? 0;
  }

  add(partitions: Iterable<ReadPartition>): Promise<void> {
    return this.#change(() => {
      for (const one of partitions) this.#partitions.set(one.partition, one);
    });
  }

  /** Removes partitions. Resolves once no message of these partitions is read. */
  remove(partitions: Iterable<ReadPartition>): Promise<void> {
    return this.#change(() => {
      for (const { partition } of partitions) this.#partitions.delete(partition);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The stop does not wait for a running check of the end of the log, which may wait for NATS.
    void this.#ends[Symbol.asyncDispose]();
    await this.#inTurn(() => this.#stop());
  }

  #change(work: () => void): Promise<void> {
    return this.#inTurn(async () => {
      await this.#stop();
      work();
      this.#begin();
    });
  }

  async #stop(): Promise<void> {
    await this.#reading?.[Symbol.asyncDispose]();
    this.#reading = undefined;
    await this.#working;
  }

  #begin(): void {
    const [first] = this.#partitions.values();
    if (first === undefined) return;
    this.#streamId = first.stream;
    this.#received = Math.min(...Array.from(this.#partitions.values(), ({ through }) => through));
    const { bus, stream, ensure } = this.#options;
    this.#reading = bus.follow(eventBatchesStream, {
      subject: allStoredBatches,
      isMeant: (subject) => this.#partitions.has(readStoredBatchSubject(subject)?.partition ?? -1),
      from: async () => {
        if (!this.#isOf(await stream.look()))
          throw new Error('EVENT_BATCHES was created again or restored after its partitions were claimed');
        return this.#received + 1;
      },
      ahead,
      onMessage: (message) => this.#onMessage(message),
      ensure,
    });
  }

  #onMessage(message: FollowedMessage): Promise<void> | undefined {
    const { stream, log } = this.#options;
    this.#received = message.sequence;
    stream.saw(this.#streamId, message);
    const batch = readBatch(message, log);
    if (batch === undefined) {
      log.error(
        { subject: message.subject, sequence: message.sequence },
        'a message of EVENT_BATCHES is no event batch',
      );
      return undefined;
    }
    const { through = Infinity } = this.#partitions.get(batch.partition) ?? {};
    if (this.#hasFailed || batch.sequence <= through) return undefined;
    this.#waiting.push(batch);
    this.#waitingBytes += batch.bytes;
    this.#working ??= this.#takeWaiting();
    return this.#waitingBytes > waitingBytesMax || this.#waiting.length > ahead ? this.#working : undefined;
  }

  async #takeWaiting(): Promise<void> {
    // All messages that arrive in one turn of the event loop are taken together, with one look-up of endpoints.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && !this.#hasFailed) {
      const batches = this.#waiting;
      [this.#waiting, this.#waitingBytes] = [[], 0];
      try {
        await this.#options.take(batches);
        this.#advance(batches.at(-1)?.sequence ?? 0);
      } catch (error) {
        this.#hasFailed = true;
        this.#options.log.debug(
          { err: error },
          'event batches were not queued: the next owner of their partition reads them',
        );
      }
    }
    this.#working = undefined;
  }

  #advance(through: number): void {
    for (const one of this.#partitions.values()) one.through = Math.max(one.through, through);
  }

  /** False if the log was created again or restored after the partitions were claimed. Ownership then claims them again. */
  #isOf({ id }: LogStreamFacts): boolean {
    return this.#partitions.values().every(({ stream }) => stream === id);
  }

  /** Moves `through` to the end of the log if the owned partitions have no unread message. */
  async #followEnd(): Promise<void> {
    const { bus, stream } = this.#options;
    const now = this.#reading;
    if (now === undefined || this.#working !== undefined) return;
    const facts = await stream.refresh();
    const floor = Math.min(...Array.from(this.#partitions.values(), ({ through }) => through));
    if (!this.#isOf(facts) || facts.lastSequence <= floor) return;
    const received = this.#received;
    const left = await Promise.all(
      Array.from(this.#partitions.keys(), (one) =>
        bus.hasAfter(eventBatchesStream, partitionFilter(one), received),
      ),
    );
    const isRead = !left.includes(true);
    if (!isRead || now !== this.#reading || this.#working !== undefined || this.#hasFailed) return;
    this.#advance(facts.lastSequence);
    this.#received = Math.max(this.#received, facts.lastSequence);
  }
}
