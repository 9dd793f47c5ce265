// Compares the deliveries of this checkout with those of another one, in turns (turns.ts). A turn pushes suppliers and ends when the
// receivers have answered each of their events with 204.
import { createServer } from 'node:http';
import { listenOnLoopback } from '../process/port.ts';
import type { Stack } from '../stack/index.ts';
import { openClient, registerWebhook, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { freshName } from './push.ts';
import type { Setting } from './setting.ts';
import { reportOfTurns, type Load } from './turns-report.ts';
import { measureInTurns, programsOf } from './turns.ts';

interface DeliveryLoad extends Load {
  integrations: number;
  /** The number of endpoints of each integration. */
  endpoints: number;
  /** How many suppliers are pushed for each integration in a measurement. */
  suppliers: number;
}

const delivery = { one: 'delivery', several: 'deliveries', lanes: 8, requests: 10_000 };
const many = { integrations: 25, endpoints: 20 };
const loads: readonly DeliveryLoad[] = [
  { ...delivery, what: 'deliveries to one endpoint', integrations: 1, endpoints: 1, suppliers: 10_000 },
  { ...delivery, ...many, what: 'deliveries to 500 endpoints', suppliers: 20 },
];

interface Side {
  stack: Stack;
  clients: readonly Client[];
  receiver: Receiver;
}

export async function benchDeliveries({ startStack, options, say }: Setting): Promise<void> {
  const stack = await startStack();
  const other = await startStack(programsOf(options.beside));
  for (const [at, load] of loads.entries()) {
    await using ending = new AsyncDisposableStack();
    const openSide = async (of: Stack): Promise<Side> => {
      const receiver = ending.use(await openReceiver());
      const names = Array.from({ length: load.integrations }, (_, n) => `bench-deliveries-${at}-${n}`);
      const clients = names.map((integration) =>
        ending.use(openClient(of.gateway, of.token({ integration }))),
      );
      for (const client of clients)
        for (let n = 0; n < load.endpoints; n += 1) await registerWebhook(client, `${receiver.url}/${n}`);
      return { stack: of, clients, receiver };
    };
    const [ours, theirs] = [await openSide(stack), await openSide(other)];
    const results = await measureInTurns({ ours, theirs, turns: options.turns }, (side) =>
      prepare(side, load),
    );
    for (const line of reportOfTurns(load, results)) say(line);
  }
}

function prepare({ clients, receiver }: Side, { suppliers, requests }: DeliveryLoad) {
  const size = Math.min(suppliers, itemsPerPush);
  const pushes = clients.flatMap((client) =>
    Array.from({ length: suppliers / size }, () => ({
      client,
      body: pushBody(makeItems(freshName(), size)),
    })),
  );
  return async (): Promise<void> => {
    const received = receiver.receive(requests);
    for (const { client, body } of pushes) await client.post(suppliersPath, body);
    await received;
  };
}

interface Receiver extends Disposable {
  url: string;
  /** Resolves after `count` answers of 204. */
  receive(count: number): Promise<void>;
}

async function openReceiver(): Promise<Receiver> {
  let take: (() => void) | undefined;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      take?.();
      response.writeHead(204).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    receive(count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      let taken = 0;
      take = () => {
        taken += 1;
        if (taken === count) resolve();
      };
      return promise;
    },
    [Symbol.dispose]: () => server.close().closeAllConnections(),
  };
}
