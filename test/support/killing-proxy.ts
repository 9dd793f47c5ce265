// A proxy before a nats-server that kills the server when a client sends a certain text for the n-th time. The bytes
// with that text never reach the server.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Engine } from '@integration-sync/dev/engines';
import { listenOnLoopback } from '../../dev/process/port.ts';

export interface KillingProxy extends AsyncDisposable {
  readonly url: string;
  /** Resolves once the server is dead. The server stays dead until the test calls `nats.resume()`. */
  readonly hasKilled: Promise<void>;
}

export interface KillsAt {
  says: string;
  times?: number;
}

export async function openKillingProxy(nats: Engine, { says, times = 1 }: KillsAt): Promise<KillingProxy> {
  const target = new URL(nats.url);
  const sockets = new Set<Socket>();
  const hasKilled = Promise.withResolvers<void>();
  let left = times;
  let isKilling = false;
  const killNow = (): void => {
    isKilling = true;
    nats.hold();
    nats.kill().then(hasKilled.resolve, hasKilled.reject);
  };
  const server = createServer((client) => {
    const behind = connect(Number(target.port), target.hostname);
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('data', (bytes: Buffer) => {
      if (left > 0) left -= bytes.toString('latin1').split(says).length - 1;
      if (left > 0 || isKilling) behind.write(bytes);
      else killNow();
    });
    client.on('close', () => behind.destroy());
    behind.on('data', (bytes: Buffer) => client.write(bytes));
    behind.on('close', () => client.destroy());
  });
  const port = await listenOnLoopback(server);
  return {
    url: `nats://127.0.0.1:${port}`,
    hasKilled: hasKilled.promise,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
