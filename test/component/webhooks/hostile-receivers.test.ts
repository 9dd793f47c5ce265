// Receivers that never stop talking. What this proves: each attempt ends as failed, with its reason in the attempt log;
// an answer within the bounds is read to its end, on a kept connection too; other endpoints have their deliveries.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeCertificate, type Certificate } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import {
  chunked,
  hostileReason,
  hostileReceivers,
  openSocketReceiver,
  tooLong,
  type OnRequest,
} from '../../support/hostile-receivers.ts';
import { idsOf, openReceiver } from '../../support/receiver.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

const waitMs = 30_000;
const kiB = (count: number): string => '.'.repeat(count * 1024);
const early = 'HTTP/1.1 103 Early Hints\r\n\r\n';

let house: House;
let certificate: Certificate;
beforeAll(async () => {
  house = await openHouse();
  certificate = await makeCertificate('IP:127.0.0.1');
  await house.start({ ca: certificate.cert });
});
afterAll(() => house[Symbol.asyncDispose]());

async function firstAttempt(client: Client, id: string) {
  return await eventually(
    async () => (await client.ask('deliveries', { id })).body.entities.at(-1),
    (entry) => entry !== undefined,
    waitMs,
  );
}

async function test(onRequest: OnRequest, scheme = 'http') {
  await using receiver = await openSocketReceiver(onRequest, scheme === 'https' ? certificate : undefined);
  const client = house.newClient();
  const { id } = await client.register(receiver.url);
  const { body } = await client.ask('test', { id });
  expect(await firstAttempt(client, id)).toMatchObject({
    outcome: body.delivered ? 'succeeded' : 'failed',
    responseStatus: body.responseStatus,
    error: body.error,
  });
  return body;
}

it.each(
  Object.entries(hostileReceivers).flatMap(([kind, onRequest]) =>
    ['http', 'https'].map((scheme) => ({ kind, onRequest, scheme })),
  ),
)(
  'an attempt fails where the receiver sends $kind without end, over $scheme',
  { timeout: waitMs },
  async ({ kind, onRequest, scheme }) => {
    expect(await test(onRequest, scheme)).toMatchObject({ delivered: false, error: hostileReason(kind) });
  },
);

it.each([
  [
    'eleven informational answers',
    `${early.repeat(11)}HTTP/1.1 204 No Content\r\n\r\n`,
    null,
    'more than 10',
  ],
  ['chunk extensions', `${chunked}1;x=${kiB(256)}\r\n.\r\n0\r\n\r\n`, 200, tooLong],
  ['a body', `HTTP/1.1 200 OK\r\ncontent-length: ${256 * 1024}\r\n\r\n${kiB(256)}`, 200, tooLong],
])(
  'an attempt fails where the answer has %s over the limit, although the status is 2xx',
  async (_kind, answer, responseStatus, error) => {
    expect(await test((socket) => void socket.end(answer))).toMatchObject({
      delivered: false,
      responseStatus,
      error: expect.stringContaining(error),
    });
  },
);

it.each([
  ['ten informational answers', `${early.repeat(10)}HTTP/1.1 204 No Content\r\n\r\n`],
  ['chunk extensions', `${chunked}1;x=${kiB(250)}\r\n.\r\n0\r\n\r\n`],
  ['a body', `HTTP/1.1 200 OK\r\ncontent-length: ${250 * 1024}\r\n\r\n${kiB(250)}`],
])('an attempt succeeds where the answer has %s within the limit', async (_kind, answer) => {
  expect(await test((socket) => void socket.end(answer))).toMatchObject({ delivered: true, error: null });
});

it.each(['http', 'https'])(
  'each answer on a kept connection has a size limit of its own, over %s',
  async (scheme) => {
    const sockets = new Set<unknown>();
    await using receiver = await openReceiver(
      (_hit, response, request) => {
        sockets.add(request.socket);
        response.writeHead(200, { 'keep-alive': 'timeout=12' }).end(kiB(200));
      },
      scheme === 'https' ? { certificate } : {},
    );
    const client = house.newClient();
    const { id } = await client.register(receiver.url);
    for (let n = 0; n < 4; n += 1)
      expect((await client.ask('test', { id })).body).toMatchObject({ delivered: true, error: null });
    expect(sockets.size).toBeLessThan(4);
  },
);

it(
  'a healthy endpoint gets its deliveries beside twenty hostile receivers',
  { timeout: 240_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    await using receiver = await openReceiver();
    const quiet = house.newClient();
    await quiet.register(receiver.url);
    const kinds = Object.entries(hostileReceivers);
    const hostile = [];
    for (let n = 0; n < 20; n += 1) {
      const [kind, onRequest] = kinds[n % kinds.length]!;
      const client = house.newClient();
      const { id } = await client.register(stack.use(await openSocketReceiver(onRequest)).url);
      await client.announce();
      hostile.push({ client, id, kind });
    }
    const ids: string[] = [];
    for (let n = 0; n < 8; n += 1) {
      const [announced = ''] = await quiet.announce();
      ids.push(announced);
      await receiver.received(n + 1, { withinMs: waitMs });
    }
    expect(idsOf(receiver.hits)).toEqual(new Set(ids));
    for (const { client, id, kind } of hostile)
      expect(await firstAttempt(client, id)).toMatchObject({ outcome: 'failed', error: hostileReason(kind) });
  },
);
