// How full streams are, and how fast they grow: by what was stored in the last day, less what will be too old in the next two days.
// nats-server counts bytes before compression.
import type { StreamInfo } from '@nats-io/jetstream';
import type { StoredMessages } from './stored-messages.ts';
import type { Connection } from './connection.ts';
import { findStream } from './inspect.ts';
import { amount, quantityIn } from './quantities.ts';

export interface Level {
  bytes: number;
  /** The size limit; Infinity without a limit. */
  bytesMax: number;
}

export interface StreamLevel extends Level {
  stream: string;
  copies: number;
  /** The growth in a day; negative for a stream that shrinks. */
  bytesPerDay: number;
}

export interface Levels {
  streams: StreamLevel[];
  /** The level of all streams of the account together; each copy of a stream counts. */
  account: Level;
}

type ReadStream = StoredMessages['readStream'];

const dayMs = 24 * 60 * 60 * 1000;
const aheadMs = 2 * dayMs;

export async function readLevels(
  connection: Connection,
  readStream: ReadStream,
  streams: readonly string[],
  nowMs: number,
): Promise<Levels> {
  const { manager, whileConnected } = connection;
  const level = async (stream: string): Promise<StreamLevel[]> => {
    const info = await whileConnected(() => findStream(connection, stream));
    return info === undefined ? [] : [await levelOf(info, readStream, nowMs)];
  };
  const [levels, { storage, limits }] = await Promise.all([
    Promise.all(streams.map(level)),
    whileConnected(() => manager.getAccountInfo()),
  ]);
  return { streams: levels.flat(), account: { bytes: storage, bytesMax: amount(limits.max_storage) } };
}

async function levelOf(info: StreamInfo, readStream: ReadStream, nowMs: number): Promise<StreamLevel> {
  const { config, state } = info;
  const maxAgeMs = quantityIn(config, 'maxAgeMs');
  const spanMs = Math.min(aheadMs, maxAgeMs);
  const [ofLastDay, notTooOld] = await Promise.all([
    sequenceSince(info, readStream, nowMs - dayMs, nowMs),
    sequenceSince(info, readStream, nowMs - maxAgeMs + spanMs, nowMs),
  ]);
  const messageBytes = state.messages === 0 ? 0 : state.bytes / state.messages;
  const came = state.last_seq + 1 - ofLastDay;
  const willGo = notTooOld - state.first_seq;
  return {
    stream: config.name,
    bytes: state.bytes,
    bytesMax: quantityIn(config, 'bytesMax'),
    copies: config.num_replicas,
    bytesPerDay: (came - (willGo * dayMs) / spanMs) * messageBytes,
  };
}

/** The sequence of the first message that was stored at `sinceMs` or later. */
async function sequenceSince(
  { config, state }: StreamInfo,
  readStream: ReadStream,
  sinceMs: number,
  nowMs: number,
): Promise<number> {
  const { first_seq: first, last_seq: last } = state;
  const firstMs = Date.parse(state.first_ts);
  if (state.messages === 0 || firstMs >= sinceMs) return first;
  try {
    const options = { subject: '>', from: { time: new Date(sinceMs) }, max: 1 };
    for await (const { sequence } of readStream(config.name, options)) return sequence;
    return last + 1;
  } catch {
    // A login that may not read the stream gets an estimate, as if messages had been stored evenly over time.
    return first + Math.round(((last + 1 - first) * (sinceMs - firstMs)) / (nowMs - firstMs));
  }
}
