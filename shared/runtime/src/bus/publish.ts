// Publishing facts: one at a time, a few side by side, or many as an atomic batch. Every message carries an id, so
// that publishing again after a doubt is harmless.
import { Failure } from '@integration-sync/contracts';
import type { ApiError, PubAck } from '@nats-io/jetstream';
import { nuid } from '@nats-io/nats-core';
import { nextChunkItems, nextTurn } from '../pace.ts';
import type { Connection } from './connection.ts';
import { publishFrames, RawHeaders } from './nats-client/frames.ts';
import { mendingOf } from './refusals.ts';

export interface OutgoingMessage {
  subject: string;
  /** A token of its own making: no space, no line break. */
  id: string;
  body: Uint8Array | string;
}

export interface Published {
  sequence: number;
  duplicate: boolean;
}

/** A leader that stands still is not asked for longer than this; a message that is sent again has the same id. */
const ackTimeoutMs = 3_000;
/** The server opens a file store of its own for each atomic batch: that takes it as long as some 15 messages do. */
const atomicMin = 16;
/** The server's own bound on one atomic batch. */
const batchMessagesMax = 1_000;
/** The server takes 50 open batches a stream; several processes share them. */
const openBatchesMax = 8;
const windowMessages = 256;

/** Each of the same for every message of a batch. No value holds a line break. */
export type BatchHeaders = Readonly<Record<string, string>>;

export interface Publisher {
  /** Resolves with where each message stands once all are stored, be it now or by an earlier try. */
  publishBatch(messages: readonly OutgoingMessage[], headers?: BatchHeaders): Promise<Published[]>;
}

export function openPublisher(connection: Connection): Publisher {
  let open = 0;

  const publishChunk = async (messages: readonly OutgoingMessage[], extra: string): Promise<Published[]> => {
    if (messages.length >= atomicMin && open < openBatchesMax) {
      open += 1;
      try {
        return await publishAtomically(connection, messages, extra);
      } catch (error) {
        // One duplicate in it refuses a whole batch; single publishes tell the two apart. A stream that does not answer
        // would not answer these either.
        if (!(error instanceof Failure && error.cause instanceof RefusedByStream)) throw error;
        connection.log.debug(
          { err: error, count: messages.length },
          'atomic batch refused, publishing singly',
        );
      } finally {
        open -= 1;
      }
    }
    return publishSingly(connection, messages, extra);
  };

  return {
    async publishBatch(messages, headers = {}) {
      const extra = Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('');
      const published: Published[][] = [];
      for (let from = 0; from < messages.length; from += batchMessagesMax) {
        published.push(await publishChunk(messages.slice(from, from + batchMessagesMax), extra));
      }
      return published.flat();
    },
  };
}

/** All or nothing: the server stores the messages when it has the last one, with one write to the disk. */
async function publishAtomically(
  connection: Connection,
  messages: readonly OutgoingMessage[],
  extra: string,
): Promise<Published[]> {
  const batchId = nuid.next();
  const linesOf = (message: OutgoingMessage, sequence: number, rest = ''): string =>
    `Nats-Batch-Id: ${batchId}\r\nNats-Batch-Sequence: ${sequence}\r\n${rest}${extra}${idLine(message)}`;
  return acknowledged(connection, async () => {
    const before = messages.slice(0, -1);
    for (let from = 0, to = 0; from < before.length; from = to) {
      if (from > 0) await nextTurn();
      to = from + nextChunkItems();
      const frames = before.slice(from, to).map((message, index) => ({
        subject: message.subject,
        headerLines: linesOf(message, from + index + 1),
        body: message.body,
      }));
      publishFrames(connection.nats, frames, connection.maxPayloadBytes);
    }
    // The server answers the message that closes the batch: all are stored, or why none is.
    const [closing] = messages.slice(-1);
    if (closing === undefined) return [];
    const headers = new RawHeaders(linesOf(closing, messages.length, 'Nats-Batch-Commit: 1\r\n'));
    const { sequence } = await ask(connection, closing, headers);
    // They stand in the stream one after another, with none of another publisher between them.
    const first = sequence - messages.length + 1;
    return messages.map((_, index) => ({ sequence: first + index, duplicate: false }));
  });
}

const idLine = ({ id }: OutgoingMessage): string => `Nats-Msg-Id: ${id}\r\n`;

/** Resolves when it is stored, with where it stands. */
async function ask(
  { inbox }: Connection,
  { subject, body }: OutgoingMessage,
  headers: RawHeaders,
): Promise<Published> {
  const answer = await inbox.ask(subject, { headers, body, timeoutMs: ackTimeoutMs });
  const { error, seq = 0, duplicate = false }: Partial<PubAck> & { error?: ApiError } = answer.json();
  if (error !== undefined) throw new RefusedByStream(`the stream refused: ${wordsOf(error)}`);
  return { sequence: seq, duplicate };
}

class RefusedByStream extends Error {}

function wordsOf({ description, err_code }: ApiError): string {
  const mending = mendingOf({ code: err_code, message: description });
  return mending === undefined ? description : `${description} (${mending})`;
}

/** In order, with a window of unacknowledged messages. */
async function publishSingly(
  connection: Connection,
  messages: readonly OutgoingMessage[],
  extra: string,
): Promise<Published[]> {
  const publish = (message: OutgoingMessage): Promise<Published> =>
    acknowledged(connection, () => ask(connection, message, new RawHeaders(extra + idLine(message))));
  const published: Published[] = [];
  for (let from = 0; from < messages.length; from += windowMessages) {
    published.push(...(await Promise.all(messages.slice(from, from + windowMessages).map(publish))));
  }
  return published;
}

async function acknowledged<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await connection.whileConnected(work);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('unavailable', 'The event stream did not take a message.', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
}
