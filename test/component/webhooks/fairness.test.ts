// No integration's burst, hanging endpoints or tests keep another integration's deliveries waiting.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { newEndpoint, type Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openRevisions } from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { hang, openReceiver, type Behaviour, type Receiver } from '../../support/receiver.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, secretKey, type Client, type House } from '../../support/webhooks.ts';

const vault = openVault(secretKey);
let house: House;
let stack: AsyncDisposableStack;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house[Symbol.asyncDispose]());
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(async () => {
  await stack.disposeAsync();
  await endpoints().deleteMany({});
});

const slowly: Behaviour = (_hit, response) => void setTimeout(() => response.writeHead(204).end(), 20);

const endpoints = () => house.store.collection<Endpoint>('webhook_endpoints');

/** So many endpoints of an integration of its own, open, as each had an event: stored, because each registration costs more. */
async function openWith(count: number): Promise<{ client: Client; receiver: Receiver; ids: string[] }> {
  const receiver = stack.use(await openReceiver());
  const client = house.newClient();
  const ids = Array.from({ length: count }, () => `wh_${randomUUID().replaceAll('-', '')}`);
  const { integration } = client;
  const common = { integration, url: receiver.url, events: ['supplier.created' as const], eventsAfter: 0 };
  await endpoints().insertMany(
    ids.map((id) => newEndpoint({ ...common, id, secret: vault.seal('whsec_AAAA', id) })),
  );
  await openRevisions(house.store).changed(integration);
  await client.announce();
  await receiver.received(count);
  return { client, receiver, ids };
}

const testOf = ({ client, ids: [id = ''] }: { client: Client; ids: string[] }) => client.ask('test', { id });

/** How many hits a receiver has had by the time that another integration's event has come. */
async function hitsUntilCame(busy: Receiver, other: { client: Client; receiver: Receiver }): Promise<number> {
  const before = busy.hits.length;
  const [eventId] = await other.client.announce();
  const isIt = ({ headers }: { headers: Record<string, string> }) => headers['webhook-id'] === eventId;
  await other.receiver.received(1, { withinMs: 20_000, where: isIt });
  return busy.hits.length - before;
}

// Setup: one replica, and 8,000 deliveries of one integration to 200 endpoints, which answer at once.
// What this proves: another integration's events go out while most of them wait, each after a few hundred of them.
it('events are delivered soon beside a burst of another integration', { timeout: 60_000 }, async () => {
  stack.use(await house.start());
  const busy = await openWith(200);
  const other = await openWith(1);
  await busy.client.announce(40);
  await busy.receiver.received(201);
  for (let n = 0; n < 3; n += 1) expect(await hitsUntilCame(busy.receiver, other)).toBeLessThan(2_000);
  expect(busy.receiver.hits.length).toBeLessThan(7_000);
});

it('a test delivery starts immediately beside many hanging test deliveries of another integration', async () => {
  stack.use(await house.start());
  const busy = await openWith(1);
  const other = await openWith(1);
  busy.receiver.behave(hang);
  let refused = 0;
  for (let n = 0; n < 64; n += 1) testOf(busy).catch(() => (refused += 1));
  await busy.receiver.received(1 + 45);
  for (let n = 0; n < 10; n += 1) expect((await testOf(other)).body).toMatchObject({ delivered: true });
  await eventually(
    () => refused,
    (count) => count >= 64 - 45,
  );
  expect(refused).toBe(64 - 45);
});

// Setup: a replica with 128 places; two integrations with 100 endpoints each, which hang.
// What this proves: a third one's events go out at once, and no delivery of the others is lost.
it(
  'events are delivered immediately beside hanging endpoints of other integrations',
  { timeout: 60_000 },
  async () => {
    stack.use(await house.start({}, { WEBHOOK_IN_FLIGHT_MAX: '128' }));
    const hanging = [await openWith(100), await openWith(100)];
    const other = await openWith(3);
    for (const { client, receiver } of hanging) {
      receiver.behave(hang);
      await client.announce(3);
    }
    await eventually(
      () => hanging.reduce((sum, { receiver }) => sum + receiver.hits.length, 0),
      (hits) => hits >= 300,
    );
    const before = awake();
    for (let n = 1; n <= 10; n += 1) {
      await other.client.announce();
      await other.receiver.received(3 + 3 * n);
    }
    // The first of those that hang ends after 10 s.
    expect(awake() - before).toBeLessThan(5_000);
  },
);

// Setup: two replicas, one of them a process that the test kills while it delivers a backlog.
// What this proves: every delivery arrives, and no more arrive twice than it had taken.
it('another replica delivers the backlog of a killed replica', { timeout: 60_000 }, async () => {
  const first = stack.use(await startWebhookProcess(house.environment));
  const busy = await openWith(20);
  busy.receiver.behave(slowly);
  const ids = new Set(await busy.client.announce(100));
  await busy.receiver.received(300);
  await first.kill();
  // It ends with the house, which removes the endpoints.
  await house.start();
  const wanted = 20 * ids.size;
  const distinct = (): number =>
    new Set(
      busy.receiver.hits
        .filter(({ headers }) => ids.has(headers['webhook-id'] ?? ''))
        .map(({ headers }) => `${headers['webhook-id']} ${headers['x-webhook-id']}`),
    ).size;
  expect(await eventually(distinct, (count) => count === wanted, 40_000)).toBe(wanted);
  expect(busy.receiver.hits.length - 20 - wanted).toBeLessThan(2_500);
});
