// Compares the deliveries of this checkout with those of another one, in turns (turns.ts). A turn pushes suppliers and ends when the
// receiver has answered each of their events with 204.
import { createServer } from 'node:http';
import { listenOnLoopback } from '../process/port.ts';
import type { Stack } from '../stack/index.ts';
import { openClient, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { freshName } from './push.ts';
import type { Setting } from './setting.ts';
import { reportOfTurns, type Load } from './turns-report.ts';
import { inTurns, programsOf, type Noting } from './turns.ts';

interface DeliveryLoad extends Load {
  /** One event in so many gets a 500 first. */
  failing: number;
}

const deliveries = { one: 'delivery', several: 'deliveries', lanes: 8 };
const loads: readonly DeliveryLoad[] = [
  { ...deliveries, what: 'deliveries', requests: 10_000, failing: Infinity },
  { ...deliveries, what: 'deliveries of which every second one fails first', requests: 4_000, failing: 2 },
];

interface Side {
  stack: Stack;
  client: Client;
  receiver: Receiver;
}

export async function benchDeliveries({ stack, options, say, startBeside }: Setting): Promise<void> {
  await using ending = new AsyncDisposableStack();
  const openSide = async (of: Stack): Promise<Side> => {
    const client = ending.use(openClient(of.gateway, of.token({ integration: 'bench-deliveries' })));
    const receiver = ending.use(await openReceiver());
    const registration = Buffer.from(JSON.stringify({ url: receiver.url, events: ['supplier.created'] }));
    const { status, body } = await client.tryPost('/api/v1/integration/webhook-events', registration);
    if (status !== 201) throw new Error(`registering a webhook: ${status} ${body}`);
    return { stack: of, client, receiver };
  };
  const ours = await openSide(stack);
  const theirs = await openSide(await startBeside(programsOf(options.beside)));
  for (const load of loads) {
    const results = await inTurns({ ours, theirs, turns: options.turns }, (side) => prepare(side, load));
    for (const line of reportOfTurns(load, results)) say(line);
  }
}

function prepare({ client, receiver }: Side, { requests, failing }: DeliveryLoad) {
  const bodies = Array.from({ length: requests / itemsPerPush }, () => pushBody(makeItems(freshName())));
  return async (note: Noting): Promise<void> => {
    const began = performance.now();
    const received = receiver.receive(requests, failing, () => note(performance.now() - began));
    for (const body of bodies) await client.post(suppliersPath, body);
    await received;
  };
}

interface Receiver extends Disposable {
  url: string;
  /** Resolves after `count` different events, of which one in `failing` gets a 500 first. */
  receive(count: number, failing: number, onEvent: () => void): Promise<void>;
}

async function openReceiver(): Promise<Receiver> {
  let take: ((eventId: string) => boolean) | undefined;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isTaken = take?.(String(request.headers['webhook-id'])) ?? true;
      response.writeHead(isTaken ? 204 : 500).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    receive(count, failing, onEvent) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const failed = new Set<string>();
      let came = 0;
      let taken = 0;
      take = (eventId) => {
        if (!failed.delete(eventId)) {
          came += 1;
          if (came % failing === 0) {
            failed.add(eventId);
            return false;
          }
        }
        taken += 1;
        onEvent();
        if (taken === count) resolve();
        return true;
      };
      return promise;
    },
    [Symbol.dispose]: () => server.close().closeAllConnections(),
  };
}
