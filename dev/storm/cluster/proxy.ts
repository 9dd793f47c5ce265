// A TCP proxy in front of the gateways, or of an engine. Each connection goes to the next server in turn, or to another server
// where that server refuses it. The proxy passes bytes on unread.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '../../process/port.ts';

export interface Proxy extends AsyncDisposable {
  readonly url: string;
}

/** A gateway that is gone refuses at once; this proxy itself may be slow on a busy machine. */
const connectWithinMs = 5_000;

export async function startProxy(gateways: readonly string[], port = 0): Promise<Proxy> {
  const ports = gateways.map((gateway) => Number(new URL(gateway).port));
  const open = new Set<Socket>();
  let turn = 0;

  const pass = async (caller: Socket): Promise<void> => {
    // Further connections may advance `turn` while this one waits.
    const first = (turn += 1);
    for (let tries = 0; tries < ports.length; tries += 1) {
      const gateway = await connectTo(ports[(first + tries) % ports.length] ?? 0);
      if (gateway === undefined) continue;
      for (const [from, to] of [
        [caller, gateway],
        [gateway, caller],
      ] as const) {
        open.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          open.delete(from);
          to.destroySoon();
        });
      }
      return;
    }
    caller.destroy();
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (caller) => {
    caller.on('error', () => undefined);
    void pass(caller);
  });
  const listening = await listenOnLoopback(server, port);
  return {
    url: `http://127.0.0.1:${listening}`,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** Undefined where the gateway takes no connection. */
async function connectTo(port: number): Promise<Socket | undefined> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectWithinMs) });
    return socket;
  } catch {
    socket.destroy();
    return undefined;
  }
}
