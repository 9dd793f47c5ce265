// npm run receive -- --integration acme
// A receiver of webhooks on this machine: registers itself at the running stack, verifies both signatures of each delivery,
// prints it, and misbehaves on demand. At its end it removes its registration.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';
import { openClient, verifyWebhook, type Client } from '@integration-sync/client';
import { eventKinds, isEventKind } from '@integration-sync/contracts';
import { issueLocalToken } from './local-token.ts';
import { localUrl } from './process/port.ts';
import { untilTold } from './process/signals.ts';
import { messageOf, readCount, runWithUsage } from './process/words.ts';
import { readLocalFacts } from './stack/facts.ts';

const usage = `Usage: npm run receive -- [--integration acme] [--events supplier.created,sync.completed]
                          [--host 127.0.0.1] [--port 0] [--url http://receiver:9000/]
                          [--status 500] [--slow 3000] [--hang] [--fail 3]
--host is where it listens, and --url what it registers, unless that is the same.
All kinds of events unless some are named. --status answers with it, --slow waits so many milliseconds, --hang never
answers, --fail answers 500 so many times and well after that. What is not genuine is answered 400.
`;

const tokenSeconds = 24 * 60 * 60;
/** How long the gateway may take to answer after Ctrl-C. */
const endingMs = 5_000;

interface Behaviour {
  status: number;
  slowMs: number;
  hang: boolean;
  failures: number;
}

async function receive(): Promise<void> {
  const { values } = parseArgs({
    options: {
      integration: { type: 'string', default: 'acme' },
      events: { type: 'string', default: eventKinds.join(',') },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '0' },
      url: { type: 'string' },
      status: { type: 'string', default: '204' },
      slow: { type: 'string', default: '0' },
      fail: { type: 'string', default: '0' },
      hang: { type: 'boolean', default: false },
    },
  });
  // Listens for a Ctrl-C before the registration begins, so that the webhook is removed in any case: also if the reader of stdout
  // has gone, as after `| head`.
  const unread = new Promise<NodeJS.ErrnoException>((resolve) => process.stdout.on('error', resolve));
  const told = Promise.race([untilTold().then(() => undefined), unread]);
  const late = new AbortController();
  const words = 'the gateway does not answer: a webhook may remain, which the console removes';
  void told.then(() => setTimeout(() => late.abort(new Error(words)), endingMs).unref());
  const { webhooks } = openLocalClient(values.integration, late.signal);
  const behaviour: Behaviour = {
    status: readCount('--status', values.status, [200, 599]),
    slowMs: readCount('--slow', values.slow, [0, 60_000]),
    hang: values.hang,
    failures: readCount('--fail', values.fail, [0, 1_000]),
  };
  const port = readCount('--port', values.port, [0, 65_535]);

  let secret = '';
  const server = createServer((request, response) => {
    void takeDelivery(request, response, behaviour, secret);
  }).listen(port, values.host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver listens on no TCP port');
  const url = values.url ?? `${localUrl(values.host, address.port)}/`;
  try {
    const { id, secret: shown } = await webhooks.register({ url, events: kindsOf(values.events) });
    secret = shown;
    process.stderr.write(`${id} is registered for ${values.integration} at ${url}. Ctrl-C removes it.\n`);
    const failure = await told;
    await webhooks.remove(id).catch((cause: unknown) => {
      throw new Error(`the webhook ${id} was not removed: ${messageOf(cause)}`, { cause });
    });
    if (failure !== undefined && failure.code !== 'EPIPE') throw failure;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function takeDelivery(
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: Behaviour,
  secret: string,
): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  const verdict = await verify(request, body, secret);
  const failing = behaviour.failures > 0;
  if (failing) behaviour.failures -= 1;
  const ofGenuine = failing ? 500 : behaviour.status;
  const status = verdict.startsWith('genuine') ? ofGenuine : 400;
  print(behaviour.hang ? 'no answer' : String(status), verdict, request, body);
  if (behaviour.hang) return;
  await new Promise((resolve) => setTimeout(resolve, behaviour.slowMs));
  response.writeHead(status).end();
}

/** Verifies both signatures: Standard Webhooks, and X-Webhook-Signature. */
async function verify({ headers }: IncomingMessage, body: string, secret: string): Promise<string> {
  try {
    await verifyWebhook({ secret, headers, body });
  } catch (error) {
    return `NOT GENUINE (${messageOf(error)})`;
  }
  const plain = createHmac('sha256', secret).update(body).digest('hex');
  // X-Webhook-Signature has no room for the former secret while the secret is rotated.
  return headers['x-webhook-signature'] === plain
    ? 'genuine'
    : 'genuine (X-Webhook-Signature is of another secret)';
}

function print(answer: string, verdict: string, request: IncomingMessage, body: string): void {
  process.stdout.write(`${answer} ${verdict} ${String(request.headers['webhook-id'])} ${body}\n`);
}

function kindsOf(text: string) {
  const kinds = text.split(',');
  const unknown = kinds.find((kind) => !isEventKind(kind));
  if (unknown !== undefined)
    throw new Error(`${unknown} is no kind of event: the kinds are ${eventKinds.join(', ')}`);
  return kinds.filter(isEventKind);
}

/** A client of the running stack, unless the environment names another gateway (as for a stack in containers). */
function openLocalClient(integration: string, signal: AbortSignal): Client {
  const gateway = process.env['GATEWAY_URL'] ?? readLocalFacts()?.gateway;
  if (gateway === undefined) {
    throw new Error(
      'There is no local stack: run "npm start" first. For a receiver beside containers see docs/running.md#a-receiver-of-webhooks.',
    );
  }
  const token = issueLocalToken({ integration, ttlSeconds: tokenSeconds });
  return openClient({ baseUrl: gateway, token, patienceMs: 0, signal });
}

await runWithUsage(usage, receive);
