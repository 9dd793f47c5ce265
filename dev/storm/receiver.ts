// A server of receivers, each with a path of its own, which notes every delivery.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server as Listener } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from '../fuzz/random.ts';
import { listenOnLoopback } from '../process/port.ts';
import { openDescribed } from './described.ts';
import { react, type Behaviour } from './endpoints.ts';
import { talkOn } from './hostile.ts';
import { clockMs, type LedgerFile } from './ledger.ts';
import type { DeliveryLine } from './lines.ts';
import { bodyHashOf, readSignature } from './signed.ts';

export interface Receiving {
  behaviour: Behaviour;
  /** Signing secrets, oldest first. */
  secrets: string[];
  /** Deliveries may come before the answer that has the secret. */
  registered: Promise<unknown>;
}

/** Resolves with the address; `receiving` has the receiver of each path. */
export async function startReceiver(
  file: LedgerFile<DeliveryLine>,
  receiving: ReadonlyMap<string, Receiving>,
  random: Random,
): Promise<string> {
  const described = openDescribed();

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const begunMs = clockMs();
    const path = request.url ?? '';
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    const endpoint = receiving.get(path);
    if (endpoint === undefined) return void response.writeHead(404).end();
    const drill = request.headers['x-webhook-drill'] === 'true';
    const behaviour = drill ? 'refusing' : endpoint.behaviour;
    const { status, afterMs } = react(behaviour, { nowMs: clockMs(), random });
    await endpoint.registered;
    if (afterMs > 0) await wait(afterMs);
    const { headers } = request;
    const kind = String(headers['x-webhook-event']);
    const isHeard = !response.destroyed;
    file.write({
      endpoint: String(headers['x-webhook-id']),
      path,
      event: String(headers['webhook-id']),
      kind,
      begunMs,
      atMs: clockMs(),
      status: isHeard ? status : 0,
      ...readSignature(headers, body, endpoint.secrets),
      ...(isHeard ? {} : { unheard: true }),
      ...(drill ? { drill } : {}),
      undescribed: described.faultOfDelivery(kind, headers, body),
      bodyHash: bodyHashOf(body),
    });
    if (endpoint.behaviour === 'hostile') talkOn(request.socket, random);
    else if (status === 0) response.destroy();
    else response.writeHead(status).end();
  }

  const server = createServer((request, response) => {
    // The body of a request breaks off if a fault kills its sender.
    take(request, response).catch(() => response.destroy());
  });
  // Node accepts one connection of a socket in each turn of the event loop, and 500 busy receivers share the turns. So new connections
  // come by many sockets of one port, with long queues, or attempts would time out in the queue.
  const sharing = { backlog: 4_096, reusePort: process.platform === 'linux' };
  const port = await listenOnLoopback(server, 0, sharing);
  const more = Array.from({ length: 63 }, () => new Listener((socket) => server.emit('connection', socket)));
  if (sharing.reusePort) for (const one of more) await listenOnLoopback(one, port, sharing);
  return `http://127.0.0.1:${port}`;
}
