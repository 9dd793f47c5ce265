// Servers on loopback that end with all their connections.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { listenOnLoopback } from '../../dev/process/port.ts';

export interface Listening extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Ends another socket with the connections, and ignores its errors. */
  keep(socket: Socket): Socket;
  /** Ends all connections. */
  cut(): void;
}

/** Has a server of TCP, TLS or HTTP listen. */
export async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    return socket.on('close', () => sockets.delete(socket));
  };
  server.on('connection', keep);
  const port = await listenOnLoopback(server);
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    keep,
    cut,
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}

/** `url` is the address of the engine by way of the proxy. */
export type EngineProxy = Omit<Listening, 'keep'>;

/** A proxy before an engine, in which `carry` moves the bytes of each connection. A connection that the engine ends is ended. */
export async function openEngineProxy(
  engine: string,
  carry: (client: Socket, engine: Socket) => void,
): Promise<EngineProxy> {
  const url = new URL(engine);
  const { port, hostname } = url;
  const server = createServer((client) => {
    const behind = listening.keep(connect(Number(port || 27_017), hostname));
    behind.on('close', () => client.destroy());
    carry(client, behind);
  });
  const listening = await listen(server);
  url.host = `127.0.0.1:${listening.port}`;
  return { ...listening, url: url.href };
}
