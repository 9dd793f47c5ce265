// What a replica has in memory of the log of one integration: its newest event batches, up to 2 MiB, and chunks of older
// ones for whoever is behind. All readers of an integration share both: each has no more than an offset.
//
//   an offset           is read from
//   ──────────────────  ──────────────────────────────────────────────────────────────
//   in the window       memory
//   before the window   a chunk: in memory if somebody has read it lately, else by direct get
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { eventBatchesStream, storedBatches } from '@integration-sync/contracts';
import { LRUCache } from 'lru-cache';
import { readBatch, type LoggedBatch } from './batch.ts';

export interface Window {
  /** Nothing is known of what comes after this sequence. */
  readonly through: number;
  add(batch: LoggedBatch): void;
  /** The first batch from there on; `end`: there is none yet; undefined: it must be loaded first. */
  at(sequence: number): LoggedBatch | 'end' | undefined;
  /** Resolves when it can be read from there on. */
  load(sequence: number): Promise<void>;
  /** Nobody needs what is in memory. */
  clear(): void;
  /** Up to this sequence there is nothing beside what was added. */
  advance(through: number): void;
  /** Nothing up to this sequence is in memory, and what there is can be loaded. */
  jump(through: number): void;
}

export interface WindowsOptions {
  bus: Pick<Bus, 'readStream'>;
  log: Log;
  /** Of the chunks of older event batches, over all integrations. */
  chunksBytesMax?: number;
}

export interface Windows {
  /** Of an integration, of which nothing is known before this sequence. */
  open(integration: string, from: number): Window;
}

const windowBytesMax = 2 * 1024 * 1024;
/** Where all windows together have more, none has more than this. */
const allBytesMax = 128 * 1024 * 1024;
const windowBytesMin = 64 * 1024;
const chunkBytesMax = 2 * 1024 * 1024;
const allChunksBytesMax = 64 * 1024 * 1024;
/** Of what an empty chunk takes: many of them are as bad as a large one. */
const chunkBytesMin = 1024;

/** All event batches of the integration with `from <= sequence <= through`. */
interface Chunk {
  from: number;
  through: number;
  batches: readonly LoggedBatch[];
  bytes: number;
}

export function openWindows({ bus, log, chunksBytesMax = allChunksBytesMax }: WindowsOptions): Windows {
  let allBytes = 0;
  let chunksMade = 0;
  const chunks = new LRUCache<number, { chunk: Chunk; of: Set<Chunk> }>({
    maxSize: chunksBytesMax,
    sizeCalculation: ({ chunk }) => chunkBytesMin + chunk.bytes,
    dispose: ({ chunk, of }) => void of.delete(chunk),
  });

  const readChunk = async (integration: string, from: number, before: number): Promise<Chunk> => {
    const chunk = { from, through: before - 1, batches: [] as LoggedBatch[], bytes: 0 };
    const reading = { subject: storedBatches(integration), from: { sequence: from }, exact: true };
    for await (const stored of bus.readStream(eventBatchesStream, reading)) {
      if (stored.sequence >= before) break;
      const batch = readBatch(stored, log);
      if (batch === undefined) continue;
      chunk.batches.push(batch);
      chunk.bytes += batch.bytes;
      if (chunk.bytes < chunkBytesMax) continue;
      chunk.through = batch.sequence;
      break;
    }
    return chunk;
  };

  return {
    open(integration, openedFrom) {
      let batches: LoggedBatch[] = [];
      let bytes = 0;
      /** The window has all from there on. */
      let from = openedFrom;
      let through = openedFrom - 1;
      const older = new Set<Chunk>();
      const loading = new Map<number, Promise<void>>();

      const drop = (count: number): void => {
        const dropped = batches.slice(0, count);
        const [last] = dropped.slice(-1);
        if (last === undefined) return;
        from = last.sequence + 1;
        batches = batches.slice(count);
        const less = dropped.reduce((sum, batch) => sum + batch.bytes, 0);
        bytes -= less;
        allBytes -= less;
      };

      const inWindow = (sequence: number): LoggedBatch | 'end' => firstFrom(batches, sequence) ?? 'end';

      return {
        get through() {
          return through;
        },
        add(batch) {
          batches.push(batch);
          bytes += batch.bytes;
          allBytes += batch.bytes;
          through = batch.sequence;
          const bytesMax = allBytes > allBytesMax ? windowBytesMin : windowBytesMax;
          let [count, left] = [0, bytes];
          while (left > bytesMax && count < batches.length - 1) {
            left -= batches[count]?.bytes ?? 0;
            count += 1;
          }
          if (count > 0) drop(count);
        },
        at(sequence) {
          if (sequence > through) return 'end';
          for (let next = sequence; next < from;) {
            const chunk = older.values().find((one) => one.from <= next && next <= one.through);
            if (chunk === undefined) return undefined;
            const batch = firstFrom(chunk.batches, next);
            if (batch !== undefined) return batch;
            next = chunk.through + 1;
          }
          return inWindow(Math.max(sequence, from));
        },
        load(sequence) {
          const underWay = loading.get(sequence);
          if (underWay !== undefined) return underWay;
          const load = readChunk(integration, sequence, from)
            .then((chunk) => {
              older.add(chunk);
              chunks.set((chunksMade += 1), { chunk, of: older });
            })
            .finally(() => loading.delete(sequence));
          loading.set(sequence, load);
          return load;
        },
        clear() {
          drop(batches.length);
          from = Math.max(from, through + 1);
        },
        advance(sequence) {
          through = Math.max(through, sequence);
        },
        jump(sequence) {
          drop(batches.length);
          through = sequence;
          from = sequence + 1;
        },
      };
    },
  };
}

/** By halves, as a window may have thousands. */
function firstFrom(batches: readonly LoggedBatch[], sequence: number): LoggedBatch | undefined {
  let [low, high] = [0, batches.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((batches[middle]?.sequence ?? 0) < sequence) low = middle + 1;
    else high = middle;
  }
  return batches[low];
}
