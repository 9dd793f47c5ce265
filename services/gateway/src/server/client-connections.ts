// The requests of each connection that are not answered, and the bytes behind them that the gateway does not read yet.
//
// A client may send request after request without waiting for an answer. Node begins every request in the bytes that it has read:
// thousands in 64 KB, each with a hundred times its bytes in memory. So the gateway reads the connection itself, and passes
// Node's parser one request at a time:
//
//   unanswered requests    the next request of the connection begins
//   none                   without waiting, unless 9 to 16 other connections have begun theirs in this turn of the event loop
//   1 to 31                in the connection's turn among the waiting connections
//   32                     after an answer has gone out
//
// The bytes of a waiting request stay in the paused connection, where TCP holds up the client. In each turn of the event loop the
// waiting connections begin a few requests, so that requests of other connections come between them. Turns are short, because Node
// accepts one new connection in each. The gateway always reads the body of a request that has begun.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { RequestCuts } from './request-cuts.ts';

const unansweredMax = 32;
/**
 * How many requests all waiting connections together, and all other connections together, begin in one turn of the event loop. A
 * request takes some 50 µs.
 */
const begunPerTurnMax = 16;

export type Connections = ReturnType<typeof watchConnections>;

export function watchConnections(server: Server): WeakMap<Socket, Connection> {
  const connections = new WeakMap<Socket, Connection>();
  const turns = openTurns();
  // Node's own `connection` listener runs before this listener, and attaches the parser.
  server.on('connection', (socket: Socket) => connections.set(socket, new Connection(socket, turns)));
  return connections;
}

class Connection {
  /** The last request that came, answered or not. */
  last: IncomingMessage | undefined;
  readonly #open = new Set<FastifyReply>();
  readonly #socket: Socket;
  readonly #turns: Turns;
  readonly #parse: (bytes: Buffer) => void;
  readonly #cuts = new RequestCuts();
  #mayBegin = 0;
  #isWaiting = false;
  #isLeft = false;

  constructor(socket: Socket, turns: Turns) {
    const [parse, ...others] = socket.listeners('data');
    if (parse === undefined || others.length > 0)
      throw new Error(
        'The gateway wraps the one `data` listener that Node sets on a connection, and this Node sets none or several.',
      );
    this.#socket = socket;
    this.#turns = turns;
    this.#parse = (bytes) => void Reflect.apply(parse, socket, [bytes]);
    socket.removeAllListeners('data');
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  /** The requests whose answers are not completely sent, in order. */
  get unsent(): FastifyReply[] {
    return Array.from(this.#open).filter(({ raw }) => !raw.writableFinished);
  }

  /** Remembers that the gateway is answering this request. */
  follow(reply: FastifyReply): void {
    this.last = reply.request.raw;
    this.#open.add(reply);
    this.#mayBegin -= 1;
    this.#cuts.begin(this.last);
    reply.raw.once('close', () => {
      this.#open.delete(reply);
      if (this.#isWaiting) this.#wait();
    });
  }

  /** From now on, the bytes that still come from the client are dropped. */
  leave(): void {
    this.#isLeft = true;
  }

  /** Called when the turn of the connection has come: it may begin up to `mayBegin` requests. */
  go(mayBegin: number): void {
    this.#isWaiting = false;
    this.#mayBegin = mayBegin;
    this.#socket.resume();
  }

  #read(bytes: Buffer): void {
    const isIdle = this.#open.size === 0 && !this.#isWaiting && this.#mayBegin <= 0;
    if (isIdle && !this.#cuts.isUnderWay && this.#turns.mayBegin()) this.#mayBegin = 1;
    let at = 0;
    while (at < bytes.length && !this.#isLeft) {
      if (!this.#cuts.isUnderWay && (this.#mayBegin <= 0 || this.#open.size >= unansweredMax)) {
        this.#keep(bytes.subarray(at));
        this.#wait();
        return;
      }
      const end = this.#cuts.cut(bytes, at);
      this.#parse(bytes.subarray(at, end));
      at = end;
      // Node has paused the connection, because its client reads no answers, or because a body waits for memory.
      if (at < bytes.length && this.#socket.isPaused()) {
        this.#keep(bytes.subarray(at));
        return;
      }
    }
    this.#mayBegin = 0;
  }

  #keep(bytes: Buffer): void {
    this.#socket.pause();
    this.#socket.unshift(bytes);
  }

  #wait(): void {
    this.#isWaiting = true;
    if (this.#open.size < unansweredMax) this.#turns.wait(this);
  }
}

type Turns = ReturnType<typeof openTurns>;

function openTurns() {
  const waiting = new Set<Connection>();
  const take = (): void => {
    const share = Math.max(1, Math.floor(begunPerTurnMax / waiting.size));
    let left = begunPerTurnMax;
    for (const connection of waiting) {
      if (left <= 0) break;
      left -= share;
      waiting.delete(connection);
      connection.go(share);
    }
    if (waiting.size > 0) setImmediate(take);
  };
  let begun = 0;
  return {
    /** Whether a connection that does not wait may begin a request in this turn of the event loop. Counts the request. */
    mayBegin(): boolean {
      begun += 1;
      // The count may begin with requests of earlier turns: if each request began a count, each would cost a further turn.
      if (begun === begunPerTurnMax / 2) setImmediate(() => void (begun = 0));
      return begun <= begunPerTurnMax;
    },
    /** Makes the connection wait for its turn, in which `go` is called. */
    wait(connection: Connection): void {
      if (waiting.size === 0) setImmediate(take);
      waiting.add(connection);
    },
  };
}
