// A stand-in for a mongos: a proxy before a database that marks the database's answers to `hello` as those of a mongos.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { BSON } from 'mongodb';
import { listenOnLoopback } from '../../dev/process/port.ts';

export interface Mongos extends AsyncDisposable {
  readonly url: string;
}

export async function openMongos(mongodb: string): Promise<Mongos> {
  const target = new URL(mongodb);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(Number(target.port || 27_017), target.hostname);
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(database);
    let rest = Buffer.alloc(0);
    database.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      while (rest.length >= lengthBytes && rest.length >= rest.readInt32LE(0)) {
        const length = rest.readInt32LE(0);
        client.write(asOfMongos(rest.subarray(0, length)));
        rest = rest.subarray(length);
      }
    });
  });
  const port = await listenOnLoopback(server);
  const url = new URL(mongodb);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  // The driver refuses a mongos if the address names a replica set.
  url.searchParams.delete('replicaSet');
  // The driver assumes that every mongos has retryable writes, but FerretDB has none.
  url.searchParams.set('retryWrites', 'false');
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const lengthBytes = 4;
const opcodeAt = 12;
/** The offset of the document in a message, by the message's opcode: OP_REPLY, OP_MSG. */
const documentAt = new Map([
  [1, 36],
  [2013, 21],
]);
const helloBytesMax = 4_096;

/** The message; if it answers a `hello`, with `msg: 'isdbgrid'`, by which drivers recognise a mongos. */
function asOfMongos(message: Buffer): Buffer {
  const start = documentAt.get(message.readInt32LE(opcodeAt));
  if (start === undefined || message.length > helloBytesMax) return message;
  const answer = BSON.deserialize(message.subarray(start), { promoteValues: false });
  if (!('maxWireVersion' in answer)) return message;
  const changed = Buffer.concat([message.subarray(0, start), BSON.serialize({ ...answer, msg: 'isdbgrid' })]);
  changed.writeInt32LE(changed.length, 0);
  return changed;
}
