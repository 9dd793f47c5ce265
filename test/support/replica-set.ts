// A stand-in for a replica set of two members: two proxies before one database. They answer `hello` as members of a set do, so that
// the driver sends retryable writes, and play what only a real set does: elections, a primary that was replaced and does not know
// it, errors by code, commands that hang, and answers that are lost after their command took effect.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { BSON, type Document, ObjectId } from 'mongodb';
import { listenOnLoopback } from '../../dev/process/port.ts';

export type Member = 'first' | 'second';

/** What a member does with a command in place of passing it on; the promise may wait. */
export type Played = 'pass' | 'hang' | 'cut' | 'cut after' | Document;

export interface Command {
  member: Member;
  name: string;
  /** The collection, where the command has one. */
  on: string;
  body: Document;
  /** Whether the message, with all its documents, has the text. */
  mentions: (text: string) => boolean;
}

export type Play = (command: Command) => Played | Promise<Played>;

export interface ReplicaSet extends AsyncDisposable {
  readonly url: string;
  /** The set has one primary from now on; the former one knows it. */
  elect(member: Member): void;
  /** The other member is elected, which this one does not know: it still says that it is the primary. */
  replaceUnnoticed(member: Member): void;
  /** Ends the connections to the member, and takes no new ones until `true`. */
  reach(member: Member, isReachable: boolean): void;
  /** Has members play from now on. The first play that does not pass the command on counts. */
  play(play: Play): Disposable;
}

/** An error as a server sends it. */
export const serverError = (code: number, codeName: string, ...errorLabels: string[]): Document => ({
  ok: 0,
  code,
  codeName,
  errmsg: `the test plays ${codeName}`,
  ...(errorLabels.length === 0 ? {} : { errorLabels }),
});

export const notPrimary = serverError(10_107, 'NotWritablePrimary', 'RetryableWriteError');

interface Seat {
  name: Member;
  port: number;
  isPrimary: boolean;
  electionId: ObjectId;
  isReachable: boolean;
  sockets: Set<Socket>;
}

const setName = 'stand-in';
const opcodes = { reply: 1, query: 2004, message: 2013 } as const;

export async function openReplicaSet(mongodb: string): Promise<ReplicaSet> {
  const target = new URL(mongodb);
  const plays = new Set<Play>();
  /** Replies of retryable writes by session and number: a set carries each out once. */
  const replies = new Map<string, Buffer>();
  let terms = 0;
  const newTerm = (): ObjectId => new ObjectId((++terms).toString(16).padStart(24, '0'));

  const played = async (command: Command): Promise<Played> => {
    for (const play of plays) {
      const answer = await play(command);
      if (answer !== 'pass') return answer;
    }
    return 'pass';
  };

  const open = async (name: Member): Promise<[Seat, AsyncDisposable]> => {
    const seat: Seat = {
      name,
      port: 0,
      isPrimary: false,
      electionId: newTerm(),
      isReachable: true,
      sockets: new Set(),
    };
    const server = createServer((client) => {
      if (!seat.isReachable) {
        client.destroy();
        return;
      }
      const database = connect(Number(target.port || 27_017), target.hostname);
      for (const [socket, other] of [
        [client, database],
        [database, client],
      ] as const) {
        seat.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          seat.sockets.delete(socket);
          other.destroy();
        });
      }
      /** By the id of a request: what is done with its reply. */
      const awaited = new Map<number, { retryable?: string | undefined; isLost: boolean }>();
      let line = Promise.resolve();
      eachMessage(client, (message) => {
        line = line.then(() => pass(message));
      });
      const pass = async (message: Buffer): Promise<void> => {
        if (message.readInt32LE(12) !== opcodes.message) return void database.write(message);
        const { command, retryable, forwarded } = read(message, name);
        const id = message.readInt32LE(4);
        const known = retryable === undefined ? undefined : replies.get(retryable);
        const isHello = ['hello', 'ismaster', 'isMaster'].includes(command.name);
        const answer = isHello
          ? 'pass'
          : await played(command).then((one) =>
              one === 'pass' && !seat.isPrimary && needsPrimary.has(command.name) ? notPrimary : one,
            );
        if (answer === 'cut') return void client.destroy();
        if (answer === 'hang') return;
        if (typeof answer === 'object') return void client.write(replyTo(id, answer));
        if (known !== undefined) return void client.write(withResponseTo(known, id));
        awaited.set(id, { retryable, isLost: answer === 'cut after' });
        database.write(forwarded);
      };
      eachMessage(database, (message) => {
        const answered = awaited.get(message.readInt32LE(8));
        awaited.delete(message.readInt32LE(8));
        if (answered?.retryable !== undefined) replies.set(answered.retryable, message);
        if (answered?.isLost === true) client.destroy();
        else if (!client.destroyed) client.write(asMember(message, seat, seats));
      });
    });
    const port = await listenOnLoopback(server);
    seat.port = port;
    const close = async (): Promise<void> => {
      for (const socket of seat.sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    };
    return [seat, { [Symbol.asyncDispose]: close }];
  };

  await using opening = new AsyncDisposableStack();
  const seats: Seat[] = [];
  for (const name of ['first', 'second'] as const) {
    const [seat, server] = await open(name);
    seats.push(seat);
    opening.use(server);
  }
  const seatOf = (member: Member): Seat => {
    const seat = seats.find(({ name }) => name === member);
    if (seat === undefined) throw new Error(`no member is called ${member}`);
    return seat;
  };
  const elect = (member: Member): void => {
    for (const seat of seats) seat.isPrimary = seat.name === member;
    seatOf(member).electionId = newTerm();
  };
  elect('first');
  const opened = opening.move();
  return {
    url: `mongodb://${seats.map(({ port }) => `127.0.0.1:${port}`).join(',')}/?replicaSet=${setName}`,
    elect,
    replaceUnnoticed(member) {
      const other = seats.find(({ name }) => name !== member);
      if (other === undefined) throw new Error('there is no other member');
      other.isPrimary = true;
      other.electionId = newTerm();
    },
    reach(member, isReachable) {
      const seat = seatOf(member);
      seat.isReachable = isReachable;
      if (!isReachable) for (const socket of seat.sockets) socket.destroy();
    },
    play(play) {
      plays.add(play);
      return { [Symbol.dispose]: () => void plays.delete(play) };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const needsPrimary = new Set([
  'find',
  'aggregate',
  'count',
  'distinct',
  'getMore',
  'insert',
  'update',
  'delete',
  'findAndModify',
  'createIndexes',
  'listIndexes',
]);

function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
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

const headBytes = 21;

/** The command of a message, and the message without what the database behind the members does not know. */
function read(
  message: Buffer,
  member: Member,
): { command: Command; retryable: string | undefined; forwarded: Buffer } {
  const length = message.readInt32LE(headBytes);
  const end = headBytes + length;
  const body = BSON.deserialize(message.subarray(headBytes, end), { promoteValues: false });
  const { txnNumber, commitQuorum: _quorum, ...rest } = body;
  const { readConcern: _concern, ...known } = rest;
  const [name = ''] = Object.keys(body);
  const session: unknown = body['lsid']?.id;
  const retryable =
    txnNumber === undefined
      ? undefined
      : `${Buffer.from(Object(session).buffer ?? []).toString('hex')} ${String(txnNumber)}`;
  const changed = Buffer.concat([
    message.subarray(0, headBytes),
    BSON.serialize(known),
    message.subarray(end),
  ]);
  changed.writeInt32LE(changed.length, 0);
  const plain = BSON.deserialize(message.subarray(headBytes, end));
  const command: Command = {
    member,
    name,
    on: String(name === 'getMore' ? plain['collection'] : plain[name]),
    body: plain,
    mentions: (text) => message.includes(text),
  };
  return { command, retryable, forwarded: changed };
}

function replyTo(id: number, document: Document): Buffer {
  const head = Buffer.alloc(headBytes);
  const bytes = Buffer.concat([head, BSON.serialize(document)]);
  bytes.writeInt32LE(bytes.length, 0);
  bytes.writeInt32LE(id, 8);
  bytes.writeInt32LE(opcodes.message, 12);
  return bytes;
}

function withResponseTo(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeInt32LE(id, 8);
  return copy;
}

const helloBytesMax = 4_096;

/** The message; an answer to `hello` says what a member of the set says. */
function asMember(message: Buffer, seat: Seat, seats: readonly Seat[]): Buffer {
  const start = message.readInt32LE(12) === opcodes.reply ? 36 : headBytes;
  if (message.length > helloBytesMax) return message;
  const answer = BSON.deserialize(message.subarray(start), { promoteValues: false });
  if (!('maxWireVersion' in answer)) return message;
  const { topologyVersion: _version, msg: _msg, ...rest } = answer;
  const addressOf = ({ port }: Seat): string => `127.0.0.1:${port}`;
  const primary = seats.findLast(({ isPrimary }) => isPrimary);
  const { isPrimary, electionId } = seat;
  const document = {
    ...rest,
    setName,
    setVersion: 1,
    hosts: seats.map(addressOf),
    me: addressOf(seat),
    primary: isPrimary ? addressOf(seat) : primary && addressOf(primary),
    ismaster: isPrimary,
    isWritablePrimary: isPrimary,
    secondary: !isPrimary,
    logicalSessionTimeoutMinutes: 30,
    ...(isPrimary ? { electionId } : {}),
  };
  const bytes = Buffer.concat([
    message.subarray(0, start),
    BSON.serialize(document, { ignoreUndefined: true }),
  ]);
  bytes.writeInt32LE(bytes.length, 0);
  return bytes;
}

/** Plays once: with the first command that `matches`. `come` resolves once that command has come. */
export function playOnce(
  set: ReplicaSet,
  matches: (command: Command) => boolean,
  play: Play,
): { come: Promise<Command>; has: () => boolean } & Disposable {
  const come = Promise.withResolvers<Command>();
  let has = false;
  const playing = set.play((command) => {
    if (has || !matches(command)) return 'pass';
    has = true;
    come.resolve(command);
    return play(command);
  });
  return { come: come.promise, has: () => has, [Symbol.dispose]: () => playing[Symbol.dispose]() };
}
