// A TCP proxy on this machine, which passes bytes on unread.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './port.ts';

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Drops what servers still send on the present connections. */
  loseAnswers(): void;
}

export interface ProxyOptions {
  port?: number;
  /** The simulated round-trip time: the proxy delays bytes in each direction by half of it. */
  roundTripMs?: number;
}

/** How long connecting may take, through a slow proxy on a busy machine; a dead server refuses a connection immediately. */
const connectWithinMs = 5_000;

/** Each connection goes to the next server in turn, or to another server if that server refuses it. */
export async function openProxy(
  servers: readonly string[],
  { port: wished = 0, roundTripMs = 0 }: ProxyOptions = {},
): Promise<Proxy> {
  const targets = servers.map((server) => new URL(server));
  const sockets = new Set<Socket>();
  let turn = 0;
  // Timers of one length go off in the order in which they were set.
  const later = (act: () => unknown): void =>
    roundTripMs === 0 ? void act() : void setTimeout(act, roundTripMs / 2);

  const carry = (from: Socket, into: Socket): void => {
    sockets.add(from);
    if (roundTripMs === 0) from.pipe(into);
    else {
      from.on('data', (bytes: Buffer) => later(() => into.write(bytes)));
      from.on('end', () => later(() => into.end()));
    }
    from.on('error', () => into.destroy());
    from.on('close', () => {
      sockets.delete(from);
      later(() => into.destroySoon());
    });
  };

  const pass = async (caller: Socket): Promise<void> => {
    // Further connections may advance `turn` while this connection waits.
    const first = (turn += 1);
    for (let tries = 0; tries < targets.length; tries += 1) {
      const server = await connectTo(targets[(first + tries) % targets.length]);
      if (server === undefined) continue;
      carry(caller, server);
      carry(server, caller);
      return;
    }
    caller.destroy();
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (caller) => {
    caller.on('error', () => undefined);
    void pass(caller);
  });
  const port = await listenOnLoopback(server, wished);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    loseAnswers() {
      for (const socket of sockets) if (socket.localPort !== port) socket.unpipe().resume();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** A connection to the server; undefined if the server takes none. */
async function connectTo(target: URL | undefined): Promise<Socket | undefined> {
  if (target === undefined) return undefined;
  const { hostname: host, port } = target;
  const socket = connect({ host, port: Number(port), noDelay: true, allowHalfOpen: true });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectWithinMs) });
    return socket;
  } catch {
    socket.destroy();
    return undefined;
  }
}
