// A proxy that puts a distance between a caller and a service on the same machine: bytes arrive half of it later, each way.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '../process/port.ts';

export interface Distance extends AsyncDisposable {
  readonly url: string;
}

export async function openDistance(to: string, roundTripMs: number): Promise<Distance> {
  const service = new URL(to);
  const sockets = new Set<Socket>();
  // Timers of one length go off in the order in which they were set.
  const later = (act: () => unknown): void => void setTimeout(act, roundTripMs / 2);
  const carry = (from: Socket, into: Socket): void => {
    sockets.add(from);
    from.on('data', (bytes: Buffer) => later(() => into.write(bytes)));
    from.on('end', () => later(() => into.end()));
    from.on('error', () => into.destroy());
    from.on('close', () => {
      sockets.delete(from);
      later(() => into.destroySoon());
    });
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (caller) => {
    const { hostname: host, port: at } = service;
    const called = connect({ host, port: Number(at), noDelay: true, allowHalfOpen: true });
    carry(caller, called);
    carry(called, caller);
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
