// Publishing facts: one at a time, or all those of one push as an atomic batch. Every message carries an id, so
// that publishing again after a doubt is harmless.
import { Failure } from '@integration-sync/contracts';
import type { Connection } from './connection.ts';
import { disconnected } from './connection.ts';
import { writeHeaders } from './message.ts';

export interface OutgoingMessage {
  subject: string;
  id: string;
  body: Uint8Array | string;
  headers?: Readonly<Record<string, string>>;
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
      headers: writeHeaders(message.headers ?? {}),
    }),
  );
  return { sequence: ack.seq, duplicate: ack.duplicate };
}

export interface BatchPublisher {
  /** Resolves once every message is stored, be it now or by an earlier try. */
  publishBatch(messages: readonly OutgoingMessage[]): Promise<void>;
}

export function openBatchPublisher(connection: Connection): BatchPublisher {
  let open = 0;

  const publishChunk = async (messages: readonly OutgoingMessage[]): Promise<void> => {
    if (messages.length > 1 && open < openBatchesMax) {
      open += 1;
      try {
        await publishAtomically(connection, messages);
        return;
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
    await publishSingly(connection, messages);
  };

  return {
    async publishBatch(messages) {
      for (let from = 0; from < messages.length; from += batchMessagesMax) {
        await publishChunk(messages.slice(from, from + batchMessagesMax));
      }
    },
  };
}

async function publishAtomically(
  connection: Connection,
  messages: readonly OutgoingMessage[],
): Promise<void> {
  const options = (message: OutgoingMessage) => ({
    headers: writeHeaders({ ...message.headers, 'Nats-Msg-Id': message.id }),
    timeout: ackTimeoutMs,
  });
  const [first, ...others] = messages;
  const last = others.pop();
  if (first === undefined || last === undefined)
    throw new Error('an atomic batch needs two messages or more');
  await acknowledged(connection, async () => {
    const batch = await connection.stream.startBatch(first.subject, first.body, options(first));
    for (const message of others) batch.add(message.subject, message.body, options(message));
    return batch.commit(last.subject, last.body, options(last));
  });
}

/** In order, with a window of unacknowledged messages. */
async function publishSingly(connection: Connection, messages: readonly OutgoingMessage[]): Promise<void> {
  for (let from = 0; from < messages.length; from += windowMessages) {
    const window = messages.slice(from, from + windowMessages);
    await Promise.all(window.map((message) => publish(connection, message)));
  }
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
