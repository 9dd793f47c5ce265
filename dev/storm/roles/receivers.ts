// The receivers of webhooks: all in one process, each with a path of its own.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { openRandom } from '../../fuzz/random.ts';
import { openCaller } from '../caller.ts';
import { clockMs } from '../clock.ts';
import { openDescribed } from '../described.ts';
import { planEndpoints, react, type Behaviour, type EndpointPlan } from '../endpoints.ts';
import { talkOn } from '../hostile.ts';
import { bodyHashOf, isSignedWell } from '../signed.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan, type StormPlan } from '../plan.ts';
import { folderOfRole, takeRole } from '../role.ts';

interface Registered {
  id: string;
  secret: string;
  behaviour: Behaviour;
}

const folder = folderOfRole();
const deliveries = openLedgerFile(folder, 'deliveries');
const endpoints = openLedgerFile(folder, 'endpoints');
const described = openDescribed();
const registered = new Map<string, Registered>();
let random = openRandom(0);

const server = createServer((request, response) => {
  // The body of a request breaks off if a fault kills its sender.
  take(request, response).catch(() => response.destroy());
});

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  const endpoint = registered.get(request.url ?? '');
  if (endpoint === undefined) {
    response.writeHead(404).end();
    return;
  }
  const { status, afterMs } = react(endpoint.behaviour, { nowMs: clockMs(), random });
  if (afterMs > 0) await wait(afterMs);
  const kind = String(request.headers['x-webhook-event']);
  const isHeard = !response.destroyed;
  deliveries.write({
    endpoint: endpoint.id,
    event: String(request.headers['webhook-id']),
    kind,
    atMs: clockMs(),
    status: isHeard ? status : 0,
    genuine: isSignedWell(request.headers, body, endpoint.secret),
    undescribed: described.faultOfDelivery(kind, request.headers, body),
    bodyHash: bodyHashOf(body),
  });
  if (endpoint.behaviour === 'hostile') talkOn(request.socket, random);
  else if (status === 0) response.destroy();
  else response.writeHead(status).end();
}

async function register(plan: StormPlan, port: number, endpoint: EndpointPlan, nth: number): Promise<void> {
  const { integration, behaviour, events } = endpoint;
  const url = `http://127.0.0.1:${port}/${nth}`;
  const answer = await openCaller(plan, integration).ask({
    method: 'POST',
    path: '/webhook-events',
    body: { url, events },
  });
  if (answer.outcome !== 201) throw new Error(`a webhook was answered ${answer.outcome}: ${answer.body}`);
  const { id, secret }: { id: string; secret: string } = JSON.parse(answer.body);
  registered.set(`/${nth}`, { id, secret, behaviour });
  endpoints.write({ endpoint: id, integration, behaviour, events });
}

takeRole({
  async start() {
    const plan = readPlan(folder);
    random = openRandom(plan.seed * 1_000 + 900);
    // 500 receivers share this queue of new connections. If it is full, the kernel drops connections, and attempts time out.
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the receivers have no port');
    for (const [nth, endpoint] of planEndpoints(plan.rules).entries()) {
      await register(plan, address.port, endpoint, nth);
    }
  },
  /** The storm is over: every receiver takes all deliveries. */
  async heal() {
    for (const endpoint of registered.values()) endpoint.behaviour = 'steady';
  },
});
