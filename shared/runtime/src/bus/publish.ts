// Publishing facts: one at a time, or all those of one push as an atomic batch. Every message carries an id, so
// that publishing again after a doubt is harmless.
import { Failure } from '@integration-sync/contracts';
import { nuid, type Msg } from '@nats-io/nats-core';
import { MsgHdrsImpl } from '@nats-io/nats-core/internal';
import type { Connection } from './connection.ts';
import { disconnected } from './connection.ts';

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

const ackTimeoutMs = 5_000;
/** The server's own bound on one atomic batch. */
const batchMessagesMax = 1_000;
/** The server takes 50 open batches a stream; several processes share them. */
const openBatchesMax = 8;
const windowMessages = 256;

export async function publish(connection: Connection, message: OutgoingMessage): Promise<Published> {
  const ack = await acknowledged(connection, () =>
    connection.stream.publish(message.subject, message.body, {
      msgID: message.id,
      timeout: ackTimeoutMs,
    }),
  );
  return { sequence: ack.seq, duplicate: ack.duplicate };
}

export interface BatchPublisher {
  /** Resolves with each message's sequence once all are stored, be it now or by an earlier try. */
  publishBatch(messages: readonly OutgoingMessage[]): Promise<number[]>;
}

export function openBatchPublisher(connection: Connection): BatchPublisher {
  let open = 0;

  const publishChunk = async (messages: readonly OutgoingMessage[]): Promise<number[]> => {
    if (messages.length > 1 && open < openBatchesMax) {
      open += 1;
      try {
        return await publishAtomically(connection, messages);
      } catch (error) {
        // One duplicate in it refuses a whole batch; single publishes tell the two apart.
        if (!connection.connected) throw disconnected();
        connection.log.debug(
          { err: error, count: messages.length },
          'atomic batch refused, publishing singly',
        );
      } finally {
        open -= 1;
      }
    }
    return publishSingly(connection, messages);
  };

  return {
    async publishBatch(messages) {
      const sequences: number[][] = [];
      for (let from = 0; from < messages.length; from += batchMessagesMax) {
        sequences.push(await publishChunk(messages.slice(from, from + batchMessagesMax)));
      }
      return sequences.flat();
    },
  };
}

/** All or nothing: the server stores the messages when it has the last one, with one write to the disk. */
async function publishAtomically(
  connection: Connection,
  messages: readonly OutgoingMessage[],
): Promise<number[]> {
  const headers = new BatchHeaders(nuid.next(), messages.length);
  const { nats, inbox } = connection;
  return acknowledged(connection, async () => {
    for (const [index, message] of messages.slice(0, -1).entries()) {
      headers.describe(message, index + 1);
      nats.publish(message.subject, bytesOf(message), { headers });
    }
    // The server answers the message that closes the batch: all are stored, or why none is.
    const [closing] = messages.slice(-1);
    if (closing === undefined) return [];
    headers.describe(closing, messages.length);
    const asked = { headers, body: bytesOf(closing), timeoutMs: ackTimeoutMs };
    const last = readAck(await inbox.ask(closing.subject, asked));
    // They stand in the stream one after another, with nobody else's between them.
    return messages.map((_, index) => last - messages.length + 1 + index);
  });
}

/**
 * The headers of one message after another of a batch, written straight to bytes: the client's own headers are
 * checked and encoded one by one, which for 500 messages is most of what publishing them costs.
 */
class BatchHeaders extends MsgHdrsImpl {
  readonly #batchId: string;
  readonly #count: number;
  #bytes = new Uint8Array();

  constructor(batchId: string, count: number) {
    super();
    this.#batchId = batchId;
    this.#count = count;
  }

  describe(message: OutgoingMessage, sequence: number): void {
    let text = `NATS/1.0\r\nNats-Batch-Id: ${this.#batchId}\r\nNats-Batch-Sequence: ${sequence}\r\n`;
    if (sequence === this.#count) text += 'Nats-Batch-Commit: 1\r\n';
    this.#bytes = Buffer.from(`${text}Nats-Msg-Id: ${message.id}\r\n\r\n`);
  }

  override encode(): Uint8Array {
    return this.#bytes;
  }
}

const bytesOf = ({ body }: OutgoingMessage): Uint8Array =>
  typeof body === 'string' ? Buffer.from(body) : body;

/** Where the message stands that closed the batch. */
function readAck(answer: Msg): number {
  const { error, seq = 0 }: { error?: { description: string }; seq?: number } = answer.json();
  if (error !== undefined) throw new Error(`batch refused: ${error.description}`);
  return seq;
}

/** In order, with a window of unacknowledged messages. */
async function publishSingly(
  connection: Connection,
  messages: readonly OutgoingMessage[],
): Promise<number[]> {
  const published: Published[] = [];
  for (let from = 0; from < messages.length; from += windowMessages) {
    const window = messages.slice(from, from + windowMessages);
    published.push(...(await Promise.all(window.map((message) => publish(connection, message)))));
  }
  return published.map(({ sequence }) => sequence);
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
