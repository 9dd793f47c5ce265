// A webhook receiver on loopback that remembers every hit and behaves as its test says. A test waits for the hits
// themselves, so it needs no sleep.
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { Socket } from 'node:net';
import { awake } from './awake.ts';
import { patienceMs } from './eventually.ts';
import { listen } from './servers.ts';

const lookEveryMs = 50;

export interface Hit {
  /** Milliseconds since the receiver was opened. */
  atMs: number;
  /** The same moment by `awake()`. */
  awakeMs: number;
  path: string;
  headers: Record<string, string>;
  body: string;
}

export type Behaviour = (hit: Hit, response: ServerResponse, request: IncomingMessage) => void;

export const answer =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_hit, response) =>
    void response.writeHead(status, headers).end();

export const hang: Behaviour = () => undefined;

/** Answers the first request of each connection; breaks the connection `afterMs` after any further request. */
export function breakKept(how: 'closes' | 'resets', afterMs: number): Behaviour {
  const served = new WeakSet<Socket>();
  return (_hit, response, { socket }) => {
    if (!served.has(socket)) response.writeHead(204).end();
    else setTimeout(() => (how === 'closes' ? socket.destroy() : socket.resetAndDestroy()), afterMs);
    served.add(socket);
  };
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly hits: Hit[];
  behave(behaviour: Behaviour): void;
  /** Hits whose header X-Webhook-Event names this kind of event. */
  of(event: string): Hit[];
  /** Resolves once `count` hits match; rejects after `withinMs` by the clock, or the default bound by `awake()`. */
  received(count: number, options?: { withinMs?: number; where?: (hit: Hit) => boolean }): Promise<Hit[]>;
}

export interface ReceiverOptions {
  /** The receiver speaks HTTPS if this is given. */
  certificate?: { key: string; cert: string };
}

export async function openReceiver(
  behaviour: Behaviour = answer(204),
  { certificate }: ReceiverOptions = {},
): Promise<Receiver> {
  const hits: Hit[] = [];
  const watchers = new Set<(hit: Hit) => void>();
  let behave = behaviour;
  const openedAt = performance.now();

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const atMs = performance.now() - openedAt;
    const awakeMs = awake();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const hit: Hit = {
        atMs,
        awakeMs,
        path: request.url ?? '',
        headers: Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        ),
        body: Buffer.concat(chunks).toString(),
      };
      hits.push(hit);
      behave(hit, response, request);
      for (const watch of watchers) watch(hit);
    });
  };
  const server = certificate === undefined ? createPlain(onRequest) : createSecure(certificate, onRequest);
  const listening = await listen(server);

  return {
    ...listening,
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${listening.port}/hook`,
    hits,
    behave(next) {
      behave = next;
    },
    of: (event) => hits.filter(({ headers }) => headers['x-webhook-event'] === event),
    async received(count, { withinMs, where = () => true } = {}) {
      const { promise, resolve, reject } = Promise.withResolvers<Hit[]>();
      const now = withinMs === undefined ? awake : () => performance.now();
      const forMs = withinMs ?? patienceMs;
      const endsAt = now() + forMs;
      const timer = setInterval(() => {
        if (now() < endsAt) return;
        const seen = hits.filter(where).length;
        reject(new Error(`expected ${count} hits within ${forMs} ms, got ${seen}`));
      }, lookEveryMs);
      // Each hit is tested by `where` only once, because there may be thousands.
      const found = hits.filter(where);
      const resolveIfEnough = (): void => {
        if (found.length >= count) resolve(found);
      };
      const watch = (hit: Hit): void => {
        if (!where(hit)) return;
        found.push(hit);
        resolveIfEnough();
      };
      watchers.add(watch);
      resolveIfEnough();
      try {
        return await promise;
      } finally {
        clearInterval(timer);
        watchers.delete(watch);
      }
    },
  };
}

/** The ids of the delivered events. */
export const idsOf = (hits: readonly Hit[]) => new Set(hits.map(({ headers }) => headers['webhook-id']));
