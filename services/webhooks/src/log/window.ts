// The event batches of one integration in a replica's memory. A window has the newest batches, up to 2 MiB; chunks have older
// batches for endpoints that are behind. All readers of these batches (endpoint queues, or pages of the feed) share them, and
// each reader has only an offset.
//
//   the offset is       where the batch at the offset is read
//   ──────────────────  ──────────────────────────────────────────────────────────────
//   in the window       the window in memory
//   before the window   a chunk: in memory if a reader has loaded it, else by direct get from the stream
import type { Bus, StoredMessage } from '@integration-sync/runtime/bus';
import { eventBatchesStream, storedBatches } from '@integration-sync/contracts';
import { LRUCache } from 'lru-cache';
import type { LoggedBatch } from './logged-batch.ts';

interface WindowsOptions {
  bus: Pick<Bus, 'readStream'>;
  /** Reads a message of the log. Undefined if the message is no event batch. */
  read: (stored: StoredMessage) => LoggedBatch | undefined;
  /** A chunk ends after this many bytes of messages, even if it takes less memory than `chunkBytesMax`. */
  readBytesMax?: number;
}

const windowBytesMax = 2 * 1024 * 1024;
/** The bound on all windows together. Above this bound, a window that gets a batch shrinks to `windowBytesMin`. */
const allBytesMax = 128 * 1024 * 1024;
const windowBytesMin = 64 * 1024;
const chunkBytesMax = 2 * 1024 * 1024;
const allChunksBytesMax = 64 * 1024 * 1024;
const chunkBytesMin = 1024;

/** A chunk: all event batches of the integration with `from <= sequence <= through`. */
interface Chunk {
  from: number;
  through: number;
  batches: readonly LoggedBatch[];
  bytes: number;
}

export class Windows {
  bytes = 0;
  readonly #options: WindowsOptions;
  readonly #chunks: LRUCache<number, { chunk: Chunk; of: Set<Chunk> }>;
  #chunksMade = 0;

  constructor(options: WindowsOptions) {
    this.#options = options;
    this.#chunks = new LRUCache({
      maxSize: allChunksBytesMax,
      sizeCalculation: ({ chunk }) => chunkBytesMin + chunk.bytes,
      dispose: ({ chunk, of }) => void of.delete(chunk),
    });
  }

  open(integration: string, from: number): Window {
    return new Window(this, integration, from);
  }

  /** Reads a chunk into the set `of`. The cache removes the chunk from the set once all chunks together exceed their bound. */
  async load(of: Set<Chunk>, integration: string, from: number, before: number): Promise<void> {
    const { bus, read, readBytesMax = Infinity } = this.#options;
    const batches: LoggedBatch[] = [];
    const chunk = { from, through: before - 1, batches, bytes: 0 };
    const subject = storedBatches(integration);
    const reading = { subject, from: { sequence: from }, bytesMax: readBytesMax, exact: true };
    let [last, bytesRead] = [0, 0];
    for await (const stored of bus.readStream(eventBatchesStream, reading)) {
      if (stored.sequence >= before) break;
      last = stored.sequence;
      bytesRead += stored.body.length;
      const batch = read(stored);
      if (batch === undefined) continue;
      batches.push(batch);
      chunk.bytes += batch.bytes;
      if (chunk.bytes < chunkBytesMax) continue;
      chunk.through = batch.sequence;
      break;
    }
    if (bytesRead >= readBytesMax) chunk.through = last;
    of.add(chunk);
    this.#chunks.set((this.#chunksMade += 1), { chunk, of });
  }
}

export class Window {
  readonly #windows: Windows;
  readonly #integration: string;
  #batches: LoggedBatch[] = [];
  #bytes = 0;
  /** The window has every batch from this sequence to `#through`. */
  #from: number;
  #through: number;
  readonly #older = new Set<Chunk>();
  readonly #loading = new Map<number, Promise<void>>();

  constructor(windows: Windows, integration: string, from: number) {
    this.#windows = windows;
    this.#integration = integration;
    this.#from = from;
    this.#through = from - 1;
  }

  /** The sequence of the log up to which the window is complete. */
  get through(): number {
    return this.#through;
  }

  add(batch: LoggedBatch): void {
    this.#batches.push(batch);
    this.#bytes += batch.bytes;
    this.#windows.bytes += batch.bytes;
    this.#through = batch.sequence;
    const bytesMax = this.#windows.bytes > allBytesMax ? windowBytesMin : windowBytesMax;
    let [count, left] = [0, this.#bytes];
    while (left > bytesMax && count < this.#batches.length - 1) {
      left -= this.#batches[count]?.bytes ?? 0;
      count += 1;
    }
    if (count > 0) this.#drop(count);
  }

  /** The first batch at or after the sequence; `end` if the log has no such batch yet; undefined if `load` must read it. */
  at(sequence: number): LoggedBatch | 'end' | undefined {
    if (sequence > this.#through) return 'end';
    for (let next = sequence; next < this.#from;) {
      const chunk = this.#older.values().find((one) => one.from <= next && next <= one.through);
      if (chunk === undefined) return undefined;
      const batch = firstFrom(chunk.batches, next);
      if (batch !== undefined) return batch;
      next = chunk.through + 1;
    }
    return firstFrom(this.#batches, Math.max(sequence, this.#from)) ?? 'end';
  }

  /** Resolves once a chunk with the batches from this sequence on is in memory. */
  load(sequence: number): Promise<void> {
    const underWay = this.#loading.get(sequence);
    if (underWay !== undefined) return underWay;
    // Another reader may have loaded the chunk while this reader waited for a permit of a semaphore.
    if (this.at(sequence) !== undefined) return Promise.resolve();
    const load = this.#windows
      .load(this.#older, this.#integration, sequence, this.#from)
      .finally(() => this.#loading.delete(sequence));
    this.#loading.set(sequence, load);
    return load;
  }

  clear(): void {
    this.jump(this.#through);
  }

  /** Notes that, up to this sequence, the log has no batches of the integration besides those in the window. */
  advance(through: number): void {
    this.#through = Math.max(this.#through, through);
  }

  /** Empties the window and moves it to the end of the log. Earlier batches are read in chunks. */
  jump(through: number): void {
    this.#drop(this.#batches.length);
    this.#through = through;
    this.#from = through + 1;
  }

  #drop(count: number): void {
    const dropped = this.#batches.slice(0, count);
    const last = dropped.at(-1);
    if (last === undefined) return;
    this.#from = last.sequence + 1;
    this.#batches = this.#batches.slice(count);
    const less = dropped.reduce((sum, batch) => sum + batch.bytes, 0);
    this.#bytes -= less;
    this.#windows.bytes -= less;
  }
}

/** The first batch at or after the sequence. The search is binary, because a window may have thousands of batches. */
function firstFrom(batches: readonly LoggedBatch[], sequence: number): LoggedBatch | undefined {
  let [low, high] = [0, batches.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((batches[middle]?.sequence ?? 0) < sequence) low = middle + 1;
    else high = middle;
  }
  return batches[low];
}
