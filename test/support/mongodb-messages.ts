// The messages of MongoDB's protocol.
import type { Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';

export const opcodes = { reply: 1, query: 2004, message: 2013 } as const;

/** The bytes before the document of an OP_MSG. */
export const headBytes = 21;

export function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      take(Buffer.from(rest.subarray(0, length)));
      rest = rest.subarray(length);
    }
  });
}

/** The message with another length in its head, where its parts have changed. */
export function joined(...parts: readonly Uint8Array[]): Buffer {
  const message = Buffer.concat(parts);
  message.writeInt32LE(message.length, 0);
  return message;
}

const helloBytesMax = 4_096;

/** The message; an answer to `hello` is changed. */
export function withHello(message: Buffer, change: (answer: Document) => Document): Buffer {
  const start = message.readInt32LE(12) === opcodes.reply ? 36 : headBytes;
  if (message.length > helloBytesMax) return message;
  const answer = BSON.deserialize(message.subarray(start), { promoteValues: false });
  if (!('maxWireVersion' in answer)) return message;
  return joined(message.subarray(0, start), BSON.serialize(change(answer), { ignoreUndefined: true }));
}
