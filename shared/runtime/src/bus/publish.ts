// Publishes messages to JetStream: a few singly, but concurrently, or many as an atomic batch. Every message has a `Nats-Msg-Id`,
// so that publishing again after a time-out stores no duplicate.
import { randomBytes } from 'node:crypto';
import { Failure, type PublishAck } from '@integration-sync/contracts';
import type { ApiError, PubAck } from '@nats-io/jetstream';
import { nextChunkItems, nextTurn } from '../pace.ts';
import type { Connection } from './connection.ts';
import { publishFrames, RawHeaders } from './nats-client/frames.ts';
import { mendingOf } from './nats-refusals.ts';

export interface OutgoingMessage {
  subject: string;
  /** The `Nats-Msg-Id`: no space, no line break. */
  id: string;
  body: Uint8Array | string;
}

/** How long a publish waits for its ack: the stream's leader may be frozen. */
const ackTimeoutMs = 3_000;
/** The fewest messages of an atomic batch: nats-server opens a file store for the batch, which takes as long as 15 messages. */
const atomicMin = 16;
/** nats-server's limit for one atomic batch. */
const batchMessagesMax = 1_000;
/** How many batches this process opens: nats-server allows 50 open batches a stream, which several processes share. */
const openBatchesMax = 8;
const windowMessages = 256;

export function openPublisher(connection: Connection) {
  let open = 0;

  const publishChunk = async (messages: readonly OutgoingMessage[], extra: string): Promise<PublishAck[]> => {
    if (messages.length >= atomicMin && open < openBatchesMax) {
      open += 1;
      try {
        return await publishAtomically(connection, messages, extra);
      } catch (error) {
        // nats-server refuses a whole batch for one duplicate, while single publishes tell duplicates apart. Where the stream did
        // not answer, single publishes would get no answer either. A full stream would store a part of the messages, and later,
        // once it has forgotten their ids, the same part again.
        if (!(error instanceof Failure && error.cause instanceof RefusedByStream)) throw error;
        connection.log.debug(
          { err: error, count: messages.length },
          'nats-server refused an atomic batch: its messages are published one by one',
        );
      } finally {
        open -= 1;
      }
    }
    return publishSingly(connection, messages, extra);
  };

  return {
    /** Resolves with the sequence of each message once all are stored, now or by an earlier try. No header has a line break. */
    async publishBatch(
      messages: readonly OutgoingMessage[],
      headers: Readonly<Record<string, string>> = {},
    ): Promise<PublishAck[]> {
      const extra = Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('');
      const published: PublishAck[][] = [];
      for (let from = 0; from < messages.length; from += batchMessagesMax) {
        published.push(await publishChunk(messages.slice(from, from + batchMessagesMax), extra));
      }
      return published.flat();
    },
  };
}

/** nats-server stores all messages of the batch or none, with one write to the disk, when the last one has come. */
async function publishAtomically(
  connection: Connection,
  messages: readonly OutgoingMessage[],
  extra: string,
): Promise<PublishAck[]> {
  const batchId = newBatchId();
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
    // nats-server acknowledges only the message that commits the batch.
    const [closing] = messages.slice(-1);
    if (closing === undefined) return [];
    const headers = new RawHeaders(linesOf(closing, messages.length, 'Nats-Batch-Commit: 1\r\n'));
    const { sequence } = await ask(connection, closing, headers);
    // The messages of an atomic batch have consecutive sequences.
    const first = sequence - messages.length + 1;
    return messages.map((_, index) => ({ sequence: first + index, duplicate: false }));
  });
}

/** nats-server forgets the id once the batch is committed or 10 s old, so 48 random bits are unique enough. */
const newBatchId = (): string => randomBytes(6).toString('base64url');

const idLine = ({ id }: OutgoingMessage): string => `Nats-Msg-Id: ${id}\r\n`;

/** Resolves with the sequence of the message once it is stored. */
async function ask(
  { inbox }: Connection,
  { subject, body }: OutgoingMessage,
  headers: RawHeaders,
): Promise<PublishAck> {
  const answer = await inbox.ask(subject, { headers, body, timeoutMs: ackTimeoutMs });
  const { error, seq = 0, duplicate = false }: Partial<PubAck> & { error?: ApiError } = answer.json();
  if (error !== undefined) throw refusalOf(error);
  return { sequence: seq, duplicate };
}

/** A refusal that is not due to a limit. */
class RefusedByStream extends Error {}

function refusalOf({ description, err_code }: ApiError): Error {
  const mending = mendingOf({ code: err_code, message: description });
  return mending === undefined
    ? new RefusedByStream(`the stream refused to store a message: ${description}`)
    : new Error(`the stream refused to store a message: ${description} (${mending})`);
}

/** Publishes in order, with up to `windowMessages` unacknowledged messages at a time. */
async function publishSingly(
  connection: Connection,
  messages: readonly OutgoingMessage[],
  extra: string,
): Promise<PublishAck[]> {
  const publish = (message: OutgoingMessage): Promise<PublishAck> =>
    acknowledged(connection, () => ask(connection, message, new RawHeaders(extra + idLine(message))));
  const published: PublishAck[] = [];
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
