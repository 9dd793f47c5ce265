// Reads messages of a stream without a consumer (direct get), by subject, from a time or a sequence on. Any server with a copy of
// the stream answers. A copy may lack the messages that the stream's leader acknowledged in the last milliseconds. An `exact`
// read asks the leader for the sequence that the read must reach.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { JetStreamError, type DirectBatchOptions, type MsgRequest, type StoredMsg } from '@nats-io/jetstream';
import { openSemaphore, type Semaphore } from '../semaphore.ts';
import type { Connection } from './connection.ts';
import { traceparentIn, type FollowedMessage } from './message.ts';

export interface StoredMessage extends FollowedMessage {
  readonly id: string;
}

export interface ReadOptions {
  /** The subject of the messages to read; wildcards are allowed. */
  subject: string;
  from: { sequence: number } | { time: Date };
  /** How many messages are read at most; unless given, all. */
  max?: number;
  /** The read ends with the server's answer that brings the bodies to this size; they may be up to twice as large. */
  bytesMax?: number;
  /** Whether the read waits until the copy from which it reads has the last message of the stream's leader. */
  exact?: boolean;
}

export type StoredMessages = ReturnType<typeof openStoredMessages>;

/**
 * nats-server disconnects a client for which more than 64 MB are pending (`max_pending`). So a read asks for a bounded chunk at a
 * time, and a semaphore bounds how many chunks are pending. Only reads with a `max` do not wait for the semaphore.
 */
const chunkMessages = 500;
const chunkBytesMax = 2 * 1024 * 1024;
const longChunksMax = 8;

/** A copy that stays behind the leader for longer than this counts as broken. */
const copyBehindMaxMs = 2_000;
const copyAgainMs = 10;

export function openStoredMessages(connection: Connection) {
  const { manager } = connection;
  const longReadings = openSemaphore({ max: longChunksMax });
  const infoOf = (stream: string, options?: Parameters<typeof manager.streams.info>[1]) =>
    connection.whileConnected(() => manager.streams.info(stream, options));
  /** How many messages the stream has of each subject that `subject`, with its wildcards, matches. */
  const countBySubject = async (stream: string, subject: string): Promise<Map<string, number>> => {
    const { state } = await infoOf(stream, { subjects_filter: subject });
    return new Map(Object.entries(state.subjects ?? {}));
  };
  return {
    /** Every stored message of the subject from `from` on, oldest first, up to the messages stored when the read began. */
    readStream: (stream: string, options: ReadOptions) =>
      readStream(connection, longReadings, stream, options),
    /** The last message of each subject that matches `subjects` (wildcards allowed), from the sequence `fromSequence` on. */
    async lastOfEach(stream: string, subjects: readonly string[], fromSequence: number) {
      const asked = { multi_last: [...subjects], seq: fromSequence };
      const { messages } = await readChunk(connection, () =>
        manager.direct.getLastMessagesFor(stream, asked),
      );
      return messages;
    },
    async streamFacts(stream: string) {
      const { state, created } = await infoOf(stream);
      return {
        /** When the stream was created: a stream that was lost and created again has a later time. */
        madeAt: new Date(created),
        firstSequence: state.first_seq,
        lastSequence: state.last_seq,
        /** When the last message was stored. */
        lastAt: new Date(state.last_ts),
      };
    },
    /** When the message was stored, by the stream's leader; undefined if the stream has no such message. */
    async storedAt(stream: string, sequence: number): Promise<Date | undefined> {
      return (await leadersMessage(connection, stream, { seq: sequence }))?.time;
    },
    /** When the last message of the subject was stored, by the stream's leader; undefined if it has none. */
    async lastAt(stream: string, subject: string): Promise<Date | undefined> {
      return (await leadersMessage(connection, stream, { last_by_subj: subject }))?.time;
    },
    /** Whether the stream's leader has a message of the subject after the given sequence. */
    async hasAfter(stream: string, subject: string, sequence: number) {
      const asked = { seq: sequence + 1, next_by_subj: subject };
      return (await leadersMessage(connection, stream, asked)) !== null;
    },
    /** How many messages the stream's leader has of the subject. */
    async countMessages(stream: string, subject: string) {
      const counts = await countBySubject(stream, subject);
      return counts.values().reduce((sum, count) => sum + count, 0);
    },
    countBySubject,
    /** Removes every message of the subject and resolves with their number. */
    async purge(stream: string, subject: string) {
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
  const leaderHasMore = options.exact === true ? openLeader(connection, stream, options) : undefined;
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
    } else if (!chunk.isNotFound) throw unreadable(new Error('the only message of the answer was lost'));
    if ((await leaderHasMore?.((from.seq ?? 1) - 1)) !== true) return;
  }
}

/** The message that `asked` selects, from the stream's leader; null if the leader has none. */
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

/**
 * Returns a function that tells whether the stream's leader has messages after `readThrough`. If so, the function first waits until
 * the copy that is read has them too.
 */
function openLeader(connection: Connection, stream: string, { subject, from }: ReadOptions) {
  const since = 'time' in from ? from.time : new Date(0);
  let sequenceWanted: number | undefined;
  let behindSinceMs = 0;
  return async (readThrough: number): Promise<boolean> => {
    const last = await leadersMessage(connection, stream, { last_by_subj: subject });
    if (last === null || last.seq <= readThrough || last.time < since) return false;
    if (sequenceWanted === undefined) {
      sequenceWanted = last.seq;
      behindSinceMs = performance.now();
    }
    // Messages after `sequenceWanted` were stored after the read asked the leader, so the read need not include them.
    if (readThrough >= sequenceWanted) return false;
    if (performance.now() - behindSinceMs > copyBehindMaxMs) {
      throw unreadable(new Error(`a copy of stream ${stream} has not reached sequence ${sequenceWanted}`));
    }
    await wait(copyAgainMs);
    return true;
  };
}

/** Times before 1970 or after 2200 overflow in nats-server, and no message has such a time. */
const storable = (time: Date): Date => new Date(Math.min(Math.max(time.getTime(), 0), latestMs));
const latestMs = Date.UTC(2200);

/** `more`: whether messages were left when the server reached the limit in bytes. */
const readChunk = (connection: Connection, ask: () => Promise<AsyncIterable<StoredMsg>>) =>
  connection.whileConnected(async () => {
    const messages: StoredMessage[] = [];
    let [more, isNotFound] = [false, false];
    try {
      for await (const message of await ask()) {
        // A break between servers of a cluster may lose a message of the answer, but not its end.
        const before = Number(message.header.last('Nats-Last-Sequence'));
        if (before !== (messages.at(-1)?.sequence ?? 0)) throw new Error('a message of the answer was lost');
        messages.push(wrap(message));
        more = message.pending > 0;
      }
    } catch (error) {
      // nats-server answers 404 where no message matches.
      isNotFound = error instanceof JetStreamError && 'code' in error && error.code === 404;
      if (!isNotFound) throw unreadable(error);
    }
    return { messages, more, isNotFound };
  });

const unreadable = (cause: unknown): Failure =>
  new Failure('unavailable', 'A stream of NATS cannot be read; try again shortly.', {
    retryAfterSeconds: 1,
    cause,
  });

const wrap = ({ subject, header, data, seq, time }: StoredMsg): StoredMessage => ({
  subject,
  id: header.get('Nats-Msg-Id'),
  traceparent: traceparentIn(header),
  body: data,
  sequence: seq,
  storedAt: time,
});
