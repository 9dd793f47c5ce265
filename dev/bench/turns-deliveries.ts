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
import { measureInTurns, programsOf } from './turns.ts';

const load: Load = {
  what: 'deliveries to one endpoint',
  one: 'delivery',
  several: 'deliveries',
  lanes: 8,
  requests: 10_000,
};

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
  const results = await measureInTurns({ ours, theirs, turns: options.turns }, prepare);
  for (const line of reportOfTurns(load, results)) say(line);
}

function prepare({ client, receiver }: Side) {
  const bodies = Array.from({ length: load.requests / itemsPerPush }, () => pushBody(makeItems(freshName())));
  return async (): Promise<void> => {
    const received = receiver.receive(load.requests);
    for (const body of bodies) await client.post(suppliersPath, body);
    await received;
  };
}

interface Receiver extends Disposable {
  url: string;
  /** Resolves after `count` deliveries. */
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
