// One event at one endpoint: what was sent and answered, and sending it again.
import { expect, it } from 'vitest';
import { answer, openReceiver } from '../../support/receiver.ts';
import { openHouse } from '../../support/webhooks.ts';

it('GET of a delivery has the exact body that was sent, for every event and replay', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver();
  const acme = house.newClient();
  const { id } = await acme.register(receiver.url);
  const ids = (await Promise.all(Array.from({ length: 20 }, () => acme.announce(50)))).flat();
  await receiver.received(1_000);
  const bodies = new Map(receiver.hits.map(({ headers, body }) => [headers['webhook-id'] ?? '', body]));
  const compare = async (eventIds: readonly string[]): Promise<number> => {
    let equal = 0;
    for (const eventId of eventIds) {
      const { body } = await acme.ask('delivery', { id, eventId });
      if (body.body === bodies.get(eventId)) equal += 1;
    }
    return equal;
  };
  await expect.poll(async () => (await acme.ask('deliveries', { id })).body.total).toBe(1_000);
  // Each request reads the whole attempt log. Every seventh event: each place in a batch is among them.
  const compared = ids.filter((_, nth) => nth % 7 === 0);
  expect(await compare(compared)).toBe(143);

  const some = ids.slice(100, 200);
  expect((await acme.ask('replay', { id, body: { eventIds: some } })).body).toEqual({ queued: 100 });
  const again = (await receiver.received(1_100)).slice(1_000);
  expect(new Set(again.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(some));
  for (const { headers, body } of again) expect(body).toBe(bodies.get(headers['webhook-id'] ?? ''));
  await expect.poll(async () => (await acme.ask('deliveries', { id })).body.total).toBe(1_100);
  expect(await compare(some)).toBe(100);
  expect((await acme.ask('delivery', { id, eventId: some[0] ?? '' })).body.attempts).toHaveLength(2);
});

it('GET of a delivery shows the beginning of each answer, and the listing of deliveries does not', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(
    (_hit, response) => void response.writeHead(500).end(`no: ${'x'.repeat(5_000)}`),
  );
  const acme = house.newClient();
  const { id } = await acme.register(receiver.url);
  const [eventId = ''] = await acme.announce();
  await receiver.received(1);
  receiver.behave((_hit, response) => void response.writeHead(200).end('fine'));
  await receiver.received(2);
  await expect.poll(async () => (await acme.ask('deliveries', { id })).body.total).toBe(2);
  const { body } = await acme.ask('delivery', { id, eventId });
  expect(body).toMatchObject({ eventId, event: 'supplier.created', body: receiver.hits[0]?.body });
  expect(body.attempts.map(({ attempt, responseBody }) => [attempt, responseBody])).toEqual([
    [2, null],
    [1, `no: ${'x'.repeat(1_020)}`],
  ]);
  const listed = (await acme.ask('deliveries', { id })).body.entities.map((entry) => Object.keys(entry));
  const keys = 'eventId event attempt at outcome responseStatus durationMs error nextAttemptAt'.split(' ');
  expect(listed).toEqual([keys, keys]);
  // The stream has it no longer.
  await house.bus.purge('EVENT_BATCHES', 'event-batches.>');
  expect((await acme.ask('delivery', { id, eventId })).body).toMatchObject({
    body: null,
    attempts: [{}, {}],
  });
});

it('a replay refuses ids of unknown events, of test deliveries, and of events of another integration', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(answer(204));
  const [acme, bystander] = [house.newClient(), house.newClient()];
  const { id } = await acme.register(receiver.url);
  const other = await bystander.register(receiver.url);
  const [own = ''] = await acme.announce();
  const [foreign = ''] = await bystander.announce();
  await receiver.received(2);
  await acme.ask('test', { id });
  const test = async () =>
    (await acme.ask('deliveries', { id, query: 'event=webhook.test' })).body.entities[0]?.eventId ?? '';
  await expect.poll(test).not.toBe('');
  const refused: [body: object, ...pointers: string[]][] = [
    [{ eventIds: [own, foreign, 'none', await test()] }, '/eventIds/1', '/eventIds/2', '/eventIds/3'],
    [{ eventIds: [own, own] }, '/eventIds/1'],
    [{ eventIds: [own], since: '2026-01-01', events: ['supplier.created'] }, '/since', '/events'],
    [{ eventIds: Array.from({ length: 101 }, (_, n) => `e${n}`) }, '/eventIds'],
    [{ eventIds: [] }, '/eventIds'],
    [{ eventIds: [7] }, '/eventIds/0'],
    [{}, '/since'],
  ];
  for (const [body, ...pointers] of refused)
    await expect(acme.ask('replay', { id, body })).rejects.toMatchObject({
      code: 'invalid_request',
      errors: pointers.map((pointer) => expect.objectContaining({ pointer })),
    });
  await expect(acme.ask('delivery', { id, eventId: foreign })).rejects.toMatchObject({ code: 'not_found' });
  await expect(acme.ask('delivery', { id: other.id, eventId: foreign })).rejects.toMatchObject({
    code: 'not_found',
  });
  expect(receiver.of('supplier.created')).toHaveLength(2);
  expect((await acme.ask('replay', { id, body: { eventIds: [own] } })).body.queued).toBe(1);
  await receiver.received(2, { where: ({ headers }) => headers['webhook-id'] === own });
});

it('a replay sends an event that was just delivered, although the attempt log may not have the delivery yet', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver();
  const acme = house.newClient();
  const { id } = await acme.register(receiver.url);
  for (let delivered = 0; delivered < 10; delivered += 2) {
    const eventIds = await acme.announce();
    await receiver.received(delivered + 1);
    expect((await acme.ask('replay', { id, body: { eventIds } })).body).toEqual({ queued: 1 });
    await receiver.received(delivered + 2);
  }
});

it('a replay names each unknown or repeated event by its whole id', async () => {
  await using house = await openHouse();
  await house.start();
  const acme = house.newClient();
  const { id } = await acme.register('http://127.0.0.1:9/');
  const long = ['1', '2', '3'].map((end) => `${'e'.repeat(254)}${end}`);
  for (const eventIds of [long, [...long, ...long]])
    await expect(acme.ask('replay', { id, body: { eventIds } })).rejects.toMatchObject({
      errors: long.map(() => ({ detail: expect.stringContaining('got "e') })),
      detail: expect.stringMatching(new RegExp(long.join('".*"'))),
    });
});
