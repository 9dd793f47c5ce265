// Looking things up in a stream without a consumer: by subject, from a time or a sequence on. Any server that has a copy of
// the stream answers, and a copy may be a moment behind: it lacks what the stream's leader has acknowledged in the last
// milliseconds. Where all of that is needed, the leader says how far a reading must come.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { JetStreamError, type DirectBatchOptions, type MsgRequest, type StoredMsg } from '@nats-io/jetstream';
import { openSemaphore, type Semaphore } from '../semaphore.ts';
import type { Connection } from './connection.ts';
import type { FollowedMessage } from './follow.ts';
import { readHeaders, traceparentIn, type Headers } from './message.ts';

export interface StoredMessage extends FollowedMessage {
  readonly id: string;
  readonly headers: Headers;
}

export interface ReadOptions {
  /** May hold wildcards. */
  subject: string;
  from: { sequence: number } | { time: Date };
  /** How many at most; all of them unless given. */
  max?: number;
  /** Ends once it has so many bytes of bodies, or more by less than as many again: all that its last question brought. */
  bytesMax?: number;
  /** Nothing is left out that the stream's leader had when the reading came to an end of what there is. */
  exact?: boolean;
}

export interface StreamFacts {
  /** Another one than before, if the stream was made again. */
  madeAt: Date;
  messages: number;
  firstSequence: number;
  lastSequence: number;
}

export interface Archive {
  /** Every stored message of the subject from there on, oldest first, up to what was stored when the reading began. */
  readStream(stream: string, options: ReadOptions): AsyncGenerator<StoredMessage>;
  /** The last message of each of these subjects, which may hold wildcards, where it stands at that place or later. */
  lastOfEach(stream: string, subjects: readonly string[], fromSequence: number): Promise<StoredMessage[]>;
  streamFacts(stream: string): Promise<StreamFacts>;
  /** Whether the stream's leader has a message of the subject after that sequence. */
  hasAfter(stream: string, subject: string, sequence: number): Promise<boolean>;
  /** How many messages the stream's leader has of the subject. */
  countMessages(stream: string, subject: string): Promise<number>;
  /** The same of each subject that this one, with its wildcards, stands for. */
  countBySubject(stream: string, subject: string): Promise<Map<string, number>>;
  /** Removes every message of the subject, and says how many there were. */
  purge(stream: string, subject: string): Promise<number>;
}

/**
 * Whom the server has more than 64 MB on the way to is cut off by it, with everything that this process does on the
 * bus. So what is read at once is bounded here: long readings take turns, short ones go their way between them.
 */
const chunkMessages = 500;
const chunkBytesMax = 2 * 1024 * 1024;
const longChunksMax = 8;

/** A copy that is further behind than that is not merely a moment behind. */
const copyBehindMaxMs = 2_000;
const copyAgainMs = 10;

export function openArchive(connection: Connection): Archive {
  const { manager } = connection;
  const longReadings = openSemaphore({ max: longChunksMax });
  const infoOf = (stream: string, options?: Parameters<typeof manager.streams.info>[1]) =>
    connection.whileConnected(() => manager.streams.info(stream, options));
  const countBySubject = async (stream: string, subject: string): Promise<Map<string, number>> => {
    const { state } = await infoOf(stream, { subjects_filter: subject });
    return new Map(Object.entries(state.subjects ?? {}));
  };
  return {
    readStream: (stream, options) => readStream(connection, longReadings, stream, options),
    async lastOfEach(stream, subjects, fromSequence) {
      const asked = { multi_last: [...subjects], seq: fromSequence };
      const { messages } = await readChunk(connection, () =>
        manager.direct.getLastMessagesFor(stream, asked),
      );
      return messages;
    },
    async streamFacts(stream) {
      const { state, created } = await infoOf(stream);
      return {
        madeAt: new Date(created),
        messages: state.messages,
        firstSequence: state.first_seq,
        lastSequence: state.last_seq,
      };
    },
    async hasAfter(stream, subject, sequence) {
      const asked = { seq: sequence + 1, next_by_subj: subject };
      return (await leadersMessage(connection, stream, asked)) !== null;
    },
    async countMessages(stream, subject) {
      const counts = await countBySubject(stream, subject);
      return counts.values().reduce((sum, count) => sum + count, 0);
    },
    countBySubject,
    async purge(stream, subject) {
      const purging = connection.whileConnected(() => manager.streams.purge(stream, { filter: subject }));
      return (await purging).purged;
    },
  };
}

async function* readStream(
  connection: Connection,
  longReadings: Semaphore,
  stream: string,
  options: ReadOptions,
): AsyncGenerator<StoredMessage> {
  let from: DirectBatchOptions =
    'time' in options.from
      ? { start_time: storable(options.from.time) }
      : { seq: Math.max(options.from.sequence, 1) };
  const leader = options.exact === true ? openLeader(connection, stream, options) : undefined;
  const bytesAtOnce = Math.min(options.bytesMax ?? chunkBytesMax, chunkBytesMax);
  let bytesLeft = options.bytesMax ?? Infinity;
  for (let left = options.max ?? Infinity; left > 0;) {
    const batch = Math.min(chunkMessages, left);
    const asked = { ...from, batch, max_bytes: bytesAtOnce, next_by_subj: options.subject };
    const read = () => readChunk(connection, () => connection.manager.direct.getBatch(stream, asked));
    const chunk = await (options.max === undefined ? longReadings.run(read) : read());
    yield* chunk.messages;
    bytesLeft -= chunk.messages.reduce((sum, { body }) => sum + body.length, 0);
    if (bytesLeft <= 0) return;
    const last = chunk.messages.at(-1);
    if (last !== undefined) {
      left -= chunk.messages.length;
      from = { seq: last.sequence + 1 };
      if (chunk.more) continue;
    }
    if (leader === undefined || !(await leader.hasMore((from.seq ?? 1) - 1))) return;
  }
}

/** A message as the stream's leader has it; null where it has none. */
async function leadersMessage(
  connection: Connection,
  stream: string,
  asked: MsgRequest,
): Promise<StoredMsg | null> {
  try {
    return await connection.whileConnected(() => connection.manager.streams.getMessage(stream, asked));
  } catch (error) {
    throw unreadable(error);
  }
}

/** What the stream's leader has of the subject, beside what was read of a copy. */
function openLeader(connection: Connection, stream: string, { subject, from }: ReadOptions) {
  const since = 'time' in from ? from.time : new Date(0);
  let sequenceWanted: number | undefined;
  let behindSinceMs = 0;
  return {
    /** Whether there is more to read than up to this place; resolves when another copy may have it. */
    async hasMore(readThrough: number): Promise<boolean> {
      const last = await leadersMessage(connection, stream, { last_by_subj: subject });
      if (last === null || last.seq <= readThrough || last.time < since) return false;
      if (sequenceWanted === undefined) {
        sequenceWanted = last.seq;
        behindSinceMs = performance.now();
      }
      // What came since is after the end of this reading.
      if (readThrough >= sequenceWanted) return false;
      if (performance.now() - behindSinceMs > copyBehindMaxMs) {
        throw unreadable(new Error(`a copy of stream ${stream} has not reached sequence ${sequenceWanted}`));
      }
      await wait(copyAgainMs);
      return true;
    },
  };
}

/** Times further away overflow in the server; nothing was stored that early, and nothing will be that late. */
const storable = (time: Date): Date => new Date(Math.min(Math.max(time.getTime(), 0), latestMs));
const latestMs = Date.UTC(2200);

interface Chunk {
  messages: StoredMessage[];
  /** A chunk of large messages ends before it has as many as were asked for. */
  more: boolean;
}

async function readChunk(
  connection: Connection,
  ask: () => Promise<AsyncIterable<StoredMsg>>,
): Promise<Chunk> {
  return connection.whileConnected(async () => {
    const chunk: Chunk = { messages: [], more: false };
    try {
      for await (const message of await ask()) {
        chunk.messages.push(wrap(message));
        chunk.more = message.pending > 0;
      }
    } catch (error) {
      // Nothing there is an answer, not a fault.
      if (!isMessageNotFound(error)) throw unreadable(error);
    }
    return chunk;
  });
}

const unreadable = (cause: unknown): Failure =>
  new Failure('unavailable', 'A stream of NATS cannot be read; try again shortly.', {
    retryAfterSeconds: 1,
    cause,
  });

const isMessageNotFound = (error: unknown): boolean =>
  error instanceof JetStreamError && 'code' in error && error.code === 404;

const wrap = ({ subject, header, data, seq, time }: StoredMsg): StoredMessage => ({
  subject,
  id: header.get('Nats-Msg-Id'),
  headers: readHeaders(header),
  traceparent: traceparentIn(header),
  body: data,
  sequence: seq,
  storedAt: time,
});
