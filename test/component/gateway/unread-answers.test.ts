import { randomUUID } from 'node:crypto';
import { subjects } from '@integration-sync/contracts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer, token } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { openReadyGateway, openServices, type LogLine, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { openRaw, type RawConnection } from '../../support/raw-http.ts';

// A caller asks for many pages and reads no answer. The gateway asks the services only while the bytes of unread answers of the
// integration are below their bound, and answers a caller of another integration without delay.

const mebibyte = 1024 * 1024;
const path = '/api/v1/integration/suppliers?details=true';
const page = JSON.stringify({ entities: ['x'.repeat(mebibyte)], total: 1, page: 1, limit: 100 });
const pipelined = 32;
const feedPath = '/api/v1/integration/events?wait=1';
const isOfFeed = ({ msg, route }: LogLine): boolean =>
  msg === 'request' && route === '/api/v1/integration/events';

const stack = new AsyncDisposableStack();
let gateway: TestGateway;
const asked: string[] = [];
let feedAsked = 0;
beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(
    await openServices(nats.url, {
      [subjects.suppliersList]: async ({ integration }) => {
        asked.push(integration);
        return { body: page };
      },
      [subjects.eventsRead]: async () => {
        feedAsked += 1;
        return { body: page };
      },
    }),
  );
  gateway = stack.use(await openReadyGateway(nats.url));
});
afterAll(() => stack.disposeAsync());

const ask = (connection: RawConnection, integration: string, asking = path): void => {
  const bearing = token({ integration_id: integration });
  connection.send(
    `GET ${asking} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearing}\r\n\r\n`.repeat(pipelined),
  );
};

async function answerBytes(): Promise<number> {
  const text = await (await fetch(gateway.metricsUrl)).text();
  return Number(/^gateway_answer_bytes\{.*\} (.*)$/m.exec(text)?.[1]);
}

const askedBy = (integration: string): number => asked.filter((one) => one === integration).length;

it('the gateway keeps a bounded number of bytes of unread answers, and releases them', async () => {
  const acme = randomUUID();
  using open = new DisposableStack();
  const connections = await Promise.all(Array.from({ length: 6 }, () => openRaw(gateway.port)));
  for (const connection of connections) open.use(connection);
  for (const connection of connections) {
    connection.socket.pause();
    ask(connection, acme);
  }
  // A page may have 4 MiB, so that many are asked for at first; each has one, so that more follow.
  await eventually(
    async () => askedBy(acme),
    (count) => count > 32,
  );
  const before = awake();
  const response = await fetch(`${gateway.url}${path}`, { headers: bearer({ integration_id: 'bystander' }) });
  expect(response.status).toBe(200);
  expect(await response.text()).toHaveLength(page.length);
  expect(awake() - before).toBeLessThan(2_000);
  // The connections have taken some MB, the gateway keeps two thirds of its 64: it asks for no page that might be 4 MiB over. A slow
  // machine has refused some of the requests by then.
  const isFull = (bytes: number): boolean => bytes > (64 * (2 / 3) - 5) * mebibyte;
  await eventually(async () => {
    const bytes = await answerBytes();
    if (isFull(bytes)) return bytes;
    const another = open.use(await openRaw(gateway.port));
    connections.push(another);
    another.socket.pause();
    ask(another, acme);
    return bytes;
  }, isFull);
  expect(askedBy(acme)).toBeLessThan(100);
  expect(await answerBytes()).toBeLessThan(64 * mebibyte);
  const refused = await fetch(`${gateway.url}${path}`, { headers: bearer({ integration_id: acme }) });
  await expectProblem(refused, { status: 503, code: 'unavailable' });
  expect(refused.headers.get('retry-after')).toBe('2');
  for (const { socket } of connections) socket.destroy();
  await eventually(answerBytes, (bytes) => bytes === 0);
});

it('the gateway answers all concurrent requests of a caller that reads its answers', async () => {
  using connection = await openRaw(gateway.port);
  ask(connection, randomUUID());
  for (let n = 0; n < pipelined; n += 1) expect((await connection.answer()).status).toBe(200);
  await eventually(answerBytes, (bytes) => bytes === 0);
});

/** Of the requests of the feed that have ended. */
const statuses = (): unknown[] => gateway.lines.filter(isOfFeed).map(({ status }) => status);

it('the gateway bounds unread answers of feed calls, and refuses further requests of their caller', async () => {
  const acme = randomUUID();
  using open = new DisposableStack();
  const before = statuses().length;
  const connections: RawConnection[] = [];
  for (let count = 1; count <= 4; count += 1) {
    const connection = open.use(await openRaw(gateway.port));
    connections.push(connection);
    connection.socket.pause();
    feedAsked = 0;
    ask(connection, acme, feedPath);
    await eventually(
      async () => feedAsked,
      (all) => all >= pipelined,
    );
    // Its answer comes behind all others.
    const bystander = bearer({ integration_id: 'bystander' });
    const response = await fetch(`${gateway.url}${path}`, { headers: bystander });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  }
  for (const { socket } of connections) socket.destroy();
  const all = await eventually(
    async () => statuses().slice(before),
    ({ length }) => length === 4 * pipelined,
  );
  expect(new Set(all)).toEqual(new Set([200, 503]));
  // The connections have taken some MB, the gateway has kept two thirds of its 64.
  expect(all.filter((status) => status === 200).length).toBeLessThan(100);
  await eventually(answerBytes, (bytes) => bytes === 0);
});
