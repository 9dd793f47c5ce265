// Webhooks that come back by themselves. Hours pass by moving what is stored of them, as no test waits for a night.
import { setTimeout as wait } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { changeOf } from '../../../services/webhooks/src/api/change.ts';
import { openEndpoints } from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import { noCutoff } from '../../../services/webhooks/src/matching/cutoff.ts';
import { openDisabledWebhooks } from '../../../services/webhooks/src/operating/disabled.ts';
import { answer, openReceiver, idsOf } from '../../support/receiver.ts';
import { openEndpoint } from '../../support/webhook-parts.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

interface Stored {
  _id: string;
  active: boolean;
  epoch: number;
  eventsAfter: number;
  disablings: { at: Date }[];
  disabledAt: Date | null;
  recovery?: { step: string; dueAt: Date; since?: Date };
}

const stored = async (house: House, id: string): Promise<Stored> => {
  const found = await house.store.collection<Stored>('webhook_endpoints').findOne({ _id: id });
  if (found === null) throw new Error('there is none');
  return found;
};

/** As if it had failed that often, so that the next failure disables it. */
async function failOnceMore(house: House, acme: Client, id: string): Promise<string> {
  await house.store
    .collection<{ _id: string; failures: number }>('webhook_endpoints')
    .updateOne({ _id: id }, { $set: { failures: 9 } });
  const [eventId = ''] = await acme.announce();
  await expect.poll(async () => (await acme.ask('get', { id })).body.disabledReason).toBe('failures');
  return eventId;
}

const due = (house: House, id: string) =>
  house.store
    .collection<Stored>('webhook_endpoints')
    .updateOne({ _id: id }, { $set: { 'recovery.dueAt': new Date() } });

it('a webhook with recover: true whose receiver was away for a night is enabled a single time, and gets its missed events', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(answer(500));
  await using watching = await openReceiver();
  const acme = house.newClient();
  const events = ['supplier.created', 'webhook.enabled'];
  const { body: webhook } = await acme.ask('register', {
    body: { url: receiver.url, events, recover: true },
  });
  await acme.register(watching.url, ['webhook.enabled']);
  const { id } = webhook;
  const missed = [await failOnceMore(house, acme, id)];
  const { disabledAt, recovery } = await stored(house, id);
  expect(recovery).toMatchObject({ step: 'test' });
  expect((recovery?.dueAt.getTime() ?? 0) - (disabledAt?.getTime() ?? 0)).toBe(5 * 60_000);
  missed.push(...(await acme.announce(20)));

  const tests = (): number => receiver.of('webhook.test').length;
  await due(house, id);
  await expect.poll(tests).toBe(1);
  await expect
    .poll(async () => (await stored(house, id)).recovery?.dueAt.getTime())
    .toBe((disabledAt?.getTime() ?? 0) + 5 * 60_000);
  expect((await acme.ask('get', { id })).body.active).toBe(false);

  receiver.behave(answer(204));
  await due(house, id);
  await receiver.received(21, {
    where: ({ headers, atMs }) =>
      missed.includes(headers['webhook-id'] ?? '') &&
      atMs > 0 &&
      headers['x-webhook-event'] === 'supplier.created',
  });
  const [enabled] = await watching.received(1);
  await receiver.received(1, { where: ({ headers }) => headers['x-webhook-event'] === 'webhook.enabled' });
  expect(JSON.parse(enabled?.body ?? '')).toMatchObject({
    event: 'webhook.enabled',
    data: { webhookId: id, url: receiver.url, disabledAt: disabledAt?.toISOString(), queued: 21 },
  });
  expect((await acme.ask('get', { id })).body).toMatchObject({
    active: true,
    disabledAt: null,
    consecutiveFailures: 0,
  });
  await expect.poll(async () => (await stored(house, id)).recovery).toBeUndefined();
  const [after = ''] = await acme.announce();
  await receiver.received(1, { where: ({ headers }) => headers['webhook-id'] === after });
  expect(watching.hits).toHaveLength(1);
});

it('a recovery is completed although its replica died after sending the missed events, before storing the end of the recovery', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(answer(500));
  const acme = house.newClient();
  const events = ['supplier.created', 'webhook.enabled'];
  const { id } = (await acme.ask('register', { body: { url: receiver.url, events, recover: true } })).body;
  const missed = new Set([await failOnceMore(house, acme, id), ...(await acme.announce(5))]);
  receiver.behave(answer(204));
  await due(house, id);
  await receiver.received(1, { where: ({ headers }) => headers['x-webhook-event'] === 'webhook.enabled' });
  const { disabledAt, ...again } = { ...(await stored(house, id)) };
  expect([disabledAt, again.active]).toEqual([null, true]);

  // It died before it could say that all is sent: what is sent again is the same, and stands in the streams once.
  const { epoch, eventsAfter: through, disablings } = again;
  const since = disablings.at(-1)?.at ?? new Date(0);
  const recovery = { step: 'send', dueAt: new Date(), replays: true, since, epoch, through };
  await house.store
    .collection<{ _id: string }>('webhook_endpoints')
    .updateOne({ _id: id }, { $set: { recovery } });
  const [last = ''] = await acme.announce();
  await expect.poll(async () => (await stored(house, id)).recovery).toBeUndefined();
  await receiver.received(1, { where: ({ headers }) => headers['webhook-id'] === last });
  const ids = idsOf(receiver.hits);
  for (const one of missed) expect(ids).toContain(one);
  expect(receiver.of('webhook.enabled')).toHaveLength(1);
});

it.each([
  ['its caller', false, undefined],
  ['failures', false, undefined],
  ['failures', true, 'test'],
])(
  'an endpoint that is disabled by %s while missed events are sent gets no further missed event (recover: %s)',
  async (by, recover, step) => {
    await using house = await openHouse();
    await house.start();
    await using receiver = await openReceiver(answer(500));
    const acme = house.newClient();
    const events = ['supplier.created'];
    const { id } = (await acme.ask('register', { body: { url: receiver.url, events, recover } })).body;
    const later = new Date(Date.now() + 20_000);
    const recovery = { step: 'send', dueAt: later, replays: true, since: new Date(0), epoch: 0 };
    await house.store
      .collection<{ _id: string }>('webhook_endpoints')
      .updateOne({ _id: id }, { $set: { recovery } });
    if (by === 'failures') await failOnceMore(house, acme, id);
    else await acme.ask('change', { id, body: { active: false } });
    expect((await stored(house, id)).active).toBe(false);
    expect((await stored(house, id)).recovery?.step).toBe(step);
    receiver.behave(answer(204));
    const enabled = (await acme.ask('change', { id, body: { active: true } })).body;
    expect([enabled.active, (await stored(house, id)).recovery]).toEqual([true, undefined]);
  },
);

it('an operator’s recovery of a webhook with recover: true sends all events since its first disabling', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(answer(500));
  const acme = house.newClient();
  const events = ['supplier.created'];
  const { id } = (await acme.ask('register', { body: { url: receiver.url, events, recover: true } })).body;
  const missed = [await failOnceMore(house, acme, id), ...(await acme.announce(3))];
  const { disabledAt } = await stored(house, id);
  // As if its first recovery had been sending these events when the receiver failed again.
  const now = new Date();
  await house.store
    .collection<Stored>('webhook_endpoints')
    .updateOne({ _id: id }, { $set: { disabledAt: now, 'recovery.since': disabledAt } });
  receiver.behave(answer(204));
  const operator = openDisabledWebhooks(house.store);
  const found = await operator.find(now, acme.integration);
  expect(await operator.enable(found, false)).toBe(1);
  await expect.poll(() => operator.countLeft(found)).toBe(0);
  // The attempt that failed was the first.
  expect(idsOf((await receiver.received(5)).slice(1))).toEqual(new Set(missed));
});

it('no recovery enables a webhook without recover: true, paused by its caller, or disabled by 410', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(answer(500));
  const acme = house.newClient();
  const { id } = await acme.register(receiver.url);
  await failOnceMore(house, acme, id);
  expect((await stored(house, id)).recovery).toBeUndefined();
  await acme.ask('change', { id, body: { recover: true } });
  expect((await stored(house, id)).recovery).toMatchObject({ step: 'test' });
  await acme.ask('change', { id, body: { active: false } });
  expect((await stored(house, id)).recovery).toBeUndefined();
  await acme.ask('change', { id, body: { recover: true } });
  receiver.behave(answer(410));
  await due(house, id);
  await expect.poll(async () => (await stored(house, id)).recovery).toBeUndefined();
  expect(receiver.of('webhook.test')).toHaveLength(1);
  await acme.ask('change', { id, body: { recover: true } });
  expect((await acme.ask('change', { id, body: { recover: false } })).body.active).toBe(false);
  expect((await stored(house, id)).recovery).toBeUndefined();
});

it.each([
  ['the caller enables the webhook', { active: true }, { active: true, step: undefined }],
  ['the caller requests a recovery', { recover: true }, { active: false, step: 'enable' }],
])(
  'a caller’s change that conflicts with an operator’s recovery is applied to the webhook as read again, where %s',
  async (_, wanted, then) => {
    await using house = await openHouse();
    const endpoints = await openEndpoints(house.store);
    const operator = openDisabledWebhooks(house.store);
    await endpoints.insert({
      ...openEndpoint('wh_1'),
      active: false,
      disabledAt: new Date(),
      disabledReason: 'failures',
      epoch: 1,
    });
    const change = async (read: Awaited<ReturnType<typeof endpoints.find>>) => {
      const facts = { settings: { set: {}, clear: [] }, cutoff: noCutoff, now: new Date() };
      const update = read === null ? undefined : changeOf(read, wanted, facts);
      return read === null || update === undefined ? null : endpoints.change(read, update);
    };
    const read = await endpoints.find('wh_1');
    expect(await operator.enable(await operator.find(new Date(0), 'acme'), true)).toBe(1);
    expect(await change(read)).toBeNull();
    await change(await endpoints.find('wh_1'));
    const { active, recovery } = await stored(house, 'wh_1');
    expect({ active, step: recovery?.step }).toEqual(then);
  },
);

it('a recovery sends the missed events a single time although EVENTS is full and does not take webhook.enabled', async () => {
  await using house = await openHouse();
  await house.start({}, { EVENTS_MAX_BYTES: '1000000' });
  await using connected = new AsyncDisposableStack();
  const nats = connected.adopt(await connect({ servers: house.nats.url }), (one) => one.close());
  // The log soon forgets the ids of its messages, as it does after five minutes by its own settings.
  const { streams } = await jetstreamManager(nats);
  await streams.update('EVENT_BATCHES', { duplicate_window: 100_000_000 });

  await using receiver = await openReceiver(answer(500));
  const acme = house.newClient();
  const events = ['supplier.created', 'webhook.enabled'];
  const { id } = (await acme.ask('register', { body: { url: receiver.url, events, recover: true } })).body;
  await failOnceMore(house, acme, id);
  const missed = await acme.announce(5);
  const fill = async (bytes: number) => {
    for (const at of Array.from({ length: 150 }).keys())
      await house.bus.publishBatch([
        { subject: 'events.other.x.y', id: `${bytes}-${at}`, body: 'x'.repeat(bytes) },
      ]);
  };
  for (const bytes of [10_000, 100]) await expect(fill(bytes)).rejects.toThrow('did not take');

  receiver.behave(answer(204));
  const has = (kind: string) =>
    receiver.received(1, { where: ({ headers }) => headers['x-webhook-event'] === kind });
  for (let times = 0; times < 2; times += 1) {
    await due(house, id);
    await receiver.received(5, { where: ({ headers }) => missed.includes(headers['webhook-id'] ?? '') });
    await wait(2_000);
  }
  await house.bus.purge('EVENTS', 'events.other.>');
  await due(house, id);
  const [enabled] = await has('webhook.enabled');
  expect(JSON.parse(enabled?.body ?? '')).toMatchObject({ data: { queued: 6 } });
  const sent = receiver.hits
    .map(({ headers }) => headers['webhook-id'] ?? '')
    .filter((one) => missed.includes(one));
  expect(sent.toSorted()).toEqual(missed.toSorted());
});
