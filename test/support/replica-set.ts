// A stand-in for a replica set of two members: two proxies before one database. They answer `hello` as members of a set do, so that
// the driver sends retryable writes, and play what only a real set does: elections, a primary that was replaced and does not know
// it, errors by code, commands that hang, and answers that are lost after their command took effect.
import { BSON, type Document, ObjectId } from 'mongodb';
import { eachMessage, headBytes, joined, opcodes, withHello } from './mongodb-messages.ts';
import { openEngineProxy, type EngineProxy } from './servers.ts';

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
  proxy: EngineProxy;
  isPrimary: boolean;
  electionId: ObjectId;
  isReachable: boolean;
}

const setName = 'stand-in';

export async function openReplicaSet(mongodb: string): Promise<ReplicaSet> {
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

  const open = async (name: Member): Promise<Seat> => {
    const proxy = await openEngineProxy(mongodb, (client, database) => {
      client.on('close', () => database.destroy());
      if (!seat.isReachable) {
        client.destroy();
        return;
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
    const seat = { name, proxy, isPrimary: false, electionId: newTerm(), isReachable: true };
    return seat;
  };

  await using opening = new AsyncDisposableStack();
  const seats: Seat[] = [];
  for (const name of ['first', 'second'] as const) {
    const seat = await open(name);
    seats.push(seat);
    opening.use(seat.proxy);
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
    url: `mongodb://${seats.map(addressOf).join(',')}/?replicaSet=${setName}`,
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
      if (!isReachable) seat.proxy.cut();
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
  const forwarded = joined(message.subarray(0, headBytes), BSON.serialize(known), message.subarray(end));
  const plain = BSON.deserialize(message.subarray(headBytes, end));
  const command: Command = {
    member,
    name,
    on: String(name === 'getMore' ? plain['collection'] : plain[name]),
    body: plain,
    mentions: (text) => message.includes(text),
  };
  return { command, retryable, forwarded };
}

function replyTo(id: number, document: Document): Buffer {
  const bytes = joined(Buffer.alloc(headBytes), BSON.serialize(document));
  bytes.writeInt32LE(id, 8);
  bytes.writeInt32LE(opcodes.message, 12);
  return bytes;
}

function withResponseTo(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeInt32LE(id, 8);
  return copy;
}

const addressOf = ({ proxy }: Seat): string => `127.0.0.1:${proxy.port}`;

/** The message; an answer to `hello` says what a member of the set says. */
function asMember(message: Buffer, seat: Seat, seats: readonly Seat[]): Buffer {
  const primary = seats.findLast(({ isPrimary }) => isPrimary);
  const { isPrimary, electionId } = seat;
  return withHello(message, ({ topologyVersion: _version, msg: _msg, ...rest }) => ({
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
  }));
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
