// What callers add to the log by replays: one copy of what an endpoint lacks, and a bounded number of bytes a day.
import { eventBatchesStream, Failure, limits, readEventBatch } from '@integration-sync/contracts';
import type { Webhooks } from '@integration-sync/webhooks';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { answer, hang, openReceiver } from '../../support/receiver.ts';
import { openHouse, type Asking, type Client, type House } from '../../support/webhooks.ts';

/** The batches of an integration in the log, of replays or of its pushes. */
async function stored({ bus }: House, { integration }: Client, announcer: 'replay' | 'catalog') {
  const subject = `event-batches.*.${announcer}.${integration}`;
  const found = { events: 0, bytes: 0 };
  for await (const { body } of bus.readStream(eventBatchesStream, { subject, from: { sequence: 1 } })) {
    found.events += readEventBatch(body)?.count ?? 0;
    found.bytes += body.length;
  }
  return found;
}

/** How many events were queued, or how many of an earlier replay are left. */
async function replay(client: Client, asking: Asking): Promise<{ queued?: number; left?: number }> {
  try {
    return { queued: (await client.ask('replay', asking)).body.queued };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'conflict') throw error;
    if (error.message.includes('is being stored')) return { left: 0 };
    return { left: Number(/under way: ([1-9]\d*) of its events are left/.exec(error.message)?.[1]) };
  }
}

// Setup: two replicas, and a receiver that never answers.
// Timeline: 2,000 events are replayed once, then concurrently, by ids and by time, and after a restart of both replicas.
// What this proves: the log has one copy, no larger than the span itself, until the receiver has got it.
it('a replay that a caller repeats at any replica adds one copy of the events to the log', async () => {
  await using house = await openHouse();
  const begin = async (): Promise<Webhooks[]> => [await house.start(), await house.start()];
  const replicas = await begin();
  await using receiver = await openReceiver(hang);
  const [client, bystander] = [house.newClient(), house.newClient()];
  for (let pushes = 0; pushes < 4; pushes += 1) await client.announce(500);
  const { id } = await client.register(receiver.url);
  const body = { since: '2026-01-01' };
  const span = await stored(house, client, 'catalog');
  expect(span.events).toBe(2_000);

  const first = await Promise.all(Array.from({ length: 5 }, () => replay(client, { id, body })));
  expect(first.filter(({ queued }) => queued === 2_000)).toHaveLength(1);
  expect(first.filter(({ left = Number.NaN }) => left >= 0)).toHaveLength(4);
  await receiver.received(1);
  const [eventId] = receiver.hits.map(({ headers }) => headers['webhook-id'] ?? '');
  for (const given of [body, { since: '2026-01-02', events: ['supplier.created'] }])
    expect(await replay(client, { id, body: given })).toEqual({ left: 2_000 });
  await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
  await begin();
  expect(await replay(client, { id, body })).toEqual({ left: 2_000 });
  const copy = await stored(house, client, 'replay');
  expect(copy.events).toBe(2_000);
  // Each batch names its endpoint.
  expect(copy.bytes).toBeLessThan(span.bytes * 1.005);

  // Others are not held up: another endpoint of the integration, and another integration.
  await using healthy = await openReceiver(answer(204));
  for (const other of [client, bystander]) {
    const { id: otherId } = await other.register(healthy.url);
    const ids = await other.announce(1);
    await healthy.received(1, { where: ({ headers }) => headers['webhook-id'] === ids[0] });
    const asking = { id: otherId, body: { eventIds: ids } };
    expect(await replay(other, asking)).toEqual({ queued: 1 });
    await healthy.received(2, { where: ({ headers }) => headers['webhook-id'] === ids[0] });
  }

  // Once the receiver has got all, a replay sends them again.
  receiver.behave(answer(204));
  const ofReplay = ({ headers }: { headers: Record<string, string> }) => headers['webhook-id'] !== eventId;
  await receiver.received(2_000, { where: ofReplay, withinMs: 60_000 });
  await eventually(
    () => replay(client, { id, body: { since: '2026-01-01', until: new Date().toISOString() } }),
    ({ queued }) => queued === 2_001,
  );
});

it('of concurrent replays of the same events, one is accepted, and a further replay only after the delivery of these events', async () => {
  await using house = await openHouse();
  await house.start();
  await house.start();
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url);
  const eventIds = await client.announce(3);
  await receiver.received(3);
  for (let round = 1; round <= 3; round += 1) {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    receiver.behave((_hit, response) => void released.then(() => response.writeHead(204).end()));
    const asked = Array.from({ length: 10 }, () => replay(client, { id, body: { eventIds } }));
    expect((await Promise.all(asked)).filter(({ queued }) => queued === 3)).toHaveLength(1);
    expect((await stored(house, client, 'replay')).events).toBe(3 * round);
    release();
    receiver.behave(answer(204));
    await eventually(
      async () => (await client.ask('deliveries', { id })).body.total,
      (total) => total === 3 + 3 * round,
    );
  }
});

it('a replay is refused while another replica stores a replay, until the time at which that replica must have ended', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url);
  await client.announce(2);
  await receiver.received(2);
  const endpoints = house.store.collection<{ _id: string }>('webhook_endpoints');
  const replayingUntil = (ms: number) =>
    endpoints.updateOne({ _id: id }, { $set: { replaying: { by: 'other', until: new Date(ms) } } });
  await replayingUntil(Date.now() + 60_000);
  const asking = { id, body: { since: '2026-01-01' } };
  expect(await replay(client, asking)).toEqual({ left: 0 });
  await replayingUntil(Date.now() - 1);
  expect(await replay(client, asking)).toEqual({ queued: 2 });
});

it('the replays of an integration add a bounded number of bytes to the log on a day', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver();
  const [client, bystander] = [house.newClient(), house.newClient()];
  const ask = async (who: Client) => {
    const { id } = await who.register(receiver.url);
    await who.announce(3);
    return () => who.ask('replay', { id, body: { since: '2026-01-01' } });
  };
  const [own, others] = [await ask(client), await ask(bystander)];
  const revisions = house.store.collection<{ _id: string; replayed?: { day: string; bytes: number } }>(
    'webhook_revisions',
  );
  const bytes = limits.replayedBytesPerDayMax - 10;
  const replayedOn = (atMs: number) => {
    const replayed = { day: new Date(atMs).toISOString().slice(0, 10), bytes };
    return revisions.updateOne({ _id: client.integration }, { $set: { replayed } });
  };
  await receiver.received(6);
  await replayedOn(Date.now());
  await expect(own()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('0 events of this replay will be sent'),
  });
  expect((await stored(house, client, 'replay')).events).toBe(0);
  expect((await others()).body.queued).toBe(3);
  await replayedOn(Date.now() - 24 * 3_600_000);
  expect((await own()).body.queued).toBe(3);
  const counted = await revisions.findOne({ _id: client.integration });
  expect(counted?.replayed?.bytes).toBe((await stored(house, client, 'replay')).bytes);
});
