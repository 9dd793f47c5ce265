// What a caller says of a webhook beside its url and events: headers, a description, how many deliveries at once.
import { expect, it } from 'vitest';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';
import { openReseal } from '../../../services/webhooks/src/operating/reseal.ts';
import { answer, hang, openReceiver } from '../../support/receiver.ts';
import { allStored } from '../../support/stored-data.ts';
import { openHouse, secretKey, secretKeyOf } from '../../support/webhooks.ts';

const token = 'Bearer the-callers-own-token-4711';

it('headers of a webhook are on every delivery and test, and their values nowhere else', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(
    (hit, response) =>
      void response
        .writeHead(hit.headers['authorization'] === token ? 204 : 401)
        .end(JSON.stringify(hit.headers)),
  );
  const acme = house.newClient();
  const { body: webhook } = await acme.ask('register', {
    body: {
      url: receiver.url,
      events: ['supplier.created'],
      headers: { Authorization: token, 'X-Tenant': 'tenant-0815' },
      description: 'The ERP',
    },
  });
  expect(Object.keys(webhook)).toEqual(['id', 'url', 'events', 'active', 'secret', 'createdAt']);
  await acme.announce();
  const [hit] = await receiver.received(1);
  expect(hit?.headers).toMatchObject({ authorization: token, 'x-tenant': 'tenant-0815' });
  expect((await acme.ask('test', { id: webhook.id })).body.delivered).toBe(true);

  // The receiver repeats all headers in an answer that fails.
  receiver.behave((repeated, response) => void response.writeHead(500).end(JSON.stringify(repeated.headers)));
  const [eventId = ''] = await acme.announce();
  const refusalOf = (body: object): Promise<unknown> =>
    acme.ask('register', { body }).catch((failure: Error) => [failure.message, failure]);
  const answers: unknown[] = [
    await acme.ask('get', { id: webhook.id, query: 'details=true' }),
    await acme.ask('list', { query: 'details=true' }),
    await acme.ask('change', { id: webhook.id, body: { description: null } }),
    await refusalOf({ url: receiver.url, events: [], headers: { 'X-A': `${token}\n` } }),
    await refusalOf({ url: receiver.url, events: [], headers: { 'X-A': [token] } }),
    await refusalOf({ url: receiver.url, events: [], headers: token }),
  ];
  await expect
    .poll(
      async () => (await acme.ask('delivery', { id: webhook.id, eventId })).body.attempts?.[0]?.responseBody,
    )
    .toContain('"x-tenant":"***********"');
  answers.push(await acme.ask('delivery', { id: webhook.id, eventId }));
  const stored = await allStored(house.store, house.bus);
  for (const value of [token, 'the-callers-own-token-4711', 'tenant-0815']) {
    expect(JSON.stringify(answers)).not.toContain(value);
    expect(house.lines.join()).not.toContain(value);
    expect(stored.filter(({ text }) => text.includes(value))).toEqual([]);
  }

  receiver.behave(answer(204));
  await acme.ask('change', { id: webhook.id, body: { headers: { 'X-Tenant': 'another' } } });
  const { body: replaced } = await acme.ask('get', { id: webhook.id, query: 'details=true' });
  expect(replaced.details).toEqual({
    description: null,
    headerNames: ['X-Tenant'],
    recover: false,
    inFlightMax: 8,
  });
  await acme.ask('change', { id: webhook.id, body: { headers: null } });
  const [cleared = ''] = await acme.announce();
  const [last] = await receiver.received(1, { where: ({ headers }) => headers['webhook-id'] === cleared });
  expect(last?.headers).not.toHaveProperty('authorization');
  expect(last?.headers).not.toHaveProperty('x-tenant');
});

it('a url of another origin drops the headers of a webhook, and the answer names them', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver();
  await using stranger = await openReceiver();
  const acme = house.newClient();
  const headers = { Authorization: token, 'X-Tenant': 'tenant-0815' };
  const register = async () =>
    (
      await acme.ask('register', {
        body: { url: receiver.url, events: ['supplier.created'], headers },
      })
    ).body.id;
  const [id, bystander, moved] = [await register(), await register(), await register()];
  const path = await acme.ask('change', { id, body: { url: `${receiver.url}/other?path` } });
  expect(path.headers).not.toHaveProperty('http-x-dropped-headers');
  expect((await acme.ask('test', { id })).body.delivered).toBe(true);
  expect(receiver.hits.at(-1)?.headers).toMatchObject({ authorization: token, 'x-tenant': 'tenant-0815' });

  const origin = await acme.ask('change', { id, body: { url: stranger.url } });
  expect(origin.headers).toMatchObject({ 'http-x-dropped-headers': 'Authorization, X-Tenant' });
  expect(Object.keys(origin.body).toSorted()).toEqual(Object.keys(path.body).toSorted());
  // Nor do they come back with the former url.
  for (const url of [stranger.url, receiver.url]) {
    await acme.ask('change', { id, body: { url } });
    expect((await acme.ask('test', { id })).body.delivered).toBe(true);
    const hit = (url === stranger.url ? stranger : receiver).hits.at(-1);
    expect(hit?.headers).not.toHaveProperty('authorization');
    expect(hit?.headers).not.toHaveProperty('x-tenant');
  }
  const given = { url: stranger.url, headers: { 'X-Tenant': 'another' } };
  expect((await acme.ask('change', { id: moved, body: given })).headers).not.toHaveProperty(
    'http-x-dropped-headers',
  );
  expect((await acme.ask('test', { id: moved })).body.delivered).toBe(true);
  expect(stranger.hits.at(-1)?.headers).toMatchObject({ 'x-tenant': 'another' });
  expect((await acme.ask('test', { id: bystander })).body.delivered).toBe(true);
  expect(receiver.hits.at(-1)?.headers).toMatchObject({ authorization: token });
});

it('wrong settings of a webhook are answered 400 with all errors', async () => {
  await using house = await openHouse();
  await house.start();
  const acme = house.newClient();
  const url = 'http://127.0.0.1:9/';
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`X-${n}`, 'v']));
  const refused: [body: object, ...pointers: string[]][] = [
    [{ headers: many }, '/headers'],
    [{ headers: { 'X-A': 'v'.repeat(1_001) } }, '/headers/X-A'],
    [{ headers: { 'X-A': 'a\r\nb', 'X-B': 'a\nb' } }, '/headers/X-A', '/headers/X-B'],
    [{ headers: { 'X-A': '1', 'x-a': '2' } }, '/headers/x-a'],
    [{ headers: { 'X-A\r\nX-B': '1' } }, '/headers/X-A\r\nX-B'],
    ...[
      'Host',
      'content-type',
      'Content-Length',
      'User-Agent',
      'webhook-id',
      'X-Webhook-Id',
      'Connection',
      'TE',
    ]
      .concat([
        'Transfer-Encoding',
        'Upgrade',
        'keep-alive',
        'Trailer',
        'Proxy-Authorization',
        'Expect',
        'a b',
        '',
      ])
      .map((name): [object, string] => [{ headers: { [name]: 'v' } }, `/headers/${name}`]),
    [
      { description: 'd'.repeat(201), inFlightMax: 0, recover: 'yes' },
      '/description',
      '/inFlightMax',
      '/recover',
    ],
    [{ inFlightMax: 65 }, '/inFlightMax'],
  ];
  for (const [settings, ...pointers] of refused) {
    for (const verb of ['register', 'change']) {
      const { id } = verb === 'change' ? await acme.register(url) : { id: undefined };
      const body = { url, events: ['supplier.created'], ...settings };
      const failure = await acme
        .ask(verb, { ...(id === undefined ? {} : { id }), body })
        .catch((error: unknown) => error);
      const errors: { pointer: string }[] = Reflect.get(Object(failure), 'errors') ?? [];
      expect([verb, errors.map(({ pointer }) => pointer).toSorted()]).toEqual([verb, pointers.toSorted()]);
    }
  }
  const { body } = await acme.ask('list', { query: 'details=true&limit=100' });
  for (const { details } of body.entities as { details?: { headerNames: string[] } }[])
    expect(details?.headerNames).toEqual([]);
  const most = {
    headers: Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`X-${n}`, 'v'.repeat(1_000)])),
  };
  expect((await acme.ask('register', { body: { url, events: ['supplier.created'], ...most } })).status).toBe(
    201,
  );
});

it('only details=true shows the settings of a webhook', async () => {
  await using house = await openHouse();
  await house.start();
  const acme = house.newClient();
  const { body: webhook } = await acme.ask('register', {
    body: {
      url: 'http://127.0.0.1:9/',
      events: ['supplier.created'],
      inFlightMax: 64,
      recover: true,
      description: '',
    },
  });
  const keys = 'id url events active createdAt disabledAt disabledReason consecutiveFailures'.split(' ');
  for (const query of [undefined, 'details=false']) {
    const asked = { id: webhook.id, ...(query === undefined ? {} : { query }) };
    expect(Object.keys((await acme.ask('get', asked)).body)).toEqual(keys);
    expect((await acme.ask('list', asked)).body.entities.map((one) => Object.keys(one))).toEqual([keys]);
  }
  const { body } = await acme.ask('get', { id: webhook.id, query: 'details=true' });
  expect(body.details).toEqual({ description: '', headerNames: [], recover: true, inFlightMax: 64 });
  await expect(acme.ask('get', { id: webhook.id, query: 'details=yes' })).rejects.toMatchObject({
    code: 'invalid_request',
    errors: [{ pointer: 'details' }],
  });
  const { headers } = await acme.ask('list', { query: 'details=true&limit=1' });
  expect(headers).not.toHaveProperty('http-link');
  await acme.register('http://127.0.0.1:9/');
  const first = await acme.ask('list', { query: 'details=true&limit=1' });
  expect(first.headers['http-link']).toMatch(/&details=true>; rel="next"$/);
});

it('an operator’s command encrypts headers and secrets with a new key, and no replica starts without a key in use', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver();
  const acme = house.newClient();
  const headers = { Authorization: token };
  await acme.ask('register', { body: { url: receiver.url, events: ['supplier.created'], headers } });
  const both = `${secretKeyOf('second', 9)},${secretKey}`;
  const reseal = openReseal(house.store, openVault(both));
  expect(await reseal.countByKey()).toEqual([{ keyId: 'first', secrets: 2 }]);
  expect(await reseal.run(() => undefined)).toMatchObject({ resealed: 1, problems: [] });
  expect(await reseal.countByKey()).toEqual([{ keyId: 'second', secrets: 2 }]);
  await expect(house.start()).rejects.toThrow('expected the key "second"');

  // The headers alone are left under the old key, as a replica that seals with it would leave them.
  const sealed = openVault(secretKey).seal('["X-A","1"]', 'elsewhere headers');
  await house.store.collection('webhook_endpoints').updateMany({}, { $set: { headers: sealed } });
  expect(await reseal.countLeft()).toBe(1);
  const environment = { WEBHOOK_SECRET_KEY: secretKeyOf('second', 9) };
  await expect(house.start({}, environment)).rejects.toThrow('expected the key "first" as well');
});

it('Retry-After lengthens the wait for the next attempt', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver(answer(429, { 'retry-after': '3' }));
  const acme = house.newClient();
  const { id } = await acme.register(receiver.url);
  await acme.announce(3);
  const [first, second] = await receiver.received(2);
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(2_990);
  const { body } = await acme.ask('deliveries', { id });
  const { at = '', nextAttemptAt } = body.entities.at(-1) ?? {};
  expect(Date.parse(nextAttemptAt ?? '') - Date.parse(at)).toBeGreaterThanOrEqual(3_000);
});

it('Retry-After holds for the receiver that sent it, and not for the receiver at a new url', async () => {
  await using house = await openHouse();
  await house.start();
  await using former = await openReceiver(answer(503, { 'retry-after': '60' }));
  await using receiver = await openReceiver();
  const acme = house.newClient();
  const { id } = await acme.register(former.url);
  const announced = await acme.announce(3);
  await former.received(1);
  await acme.ask('change', { id, body: { url: receiver.url } });
  // Within the wait of a second that the first attempt has by itself, and not of a minute.
  const hits = await receiver.received(3);
  expect(hits.map(({ headers }) => headers['webhook-id'])).toEqual(announced);
  expect(former.hits).toHaveLength(1);
});

/** One after the other they take 25 ms each, and as much again as the machine needs. */
const allWithinMs = 60_000;

it('a webhook with inFlightMax 1 has one delivery in flight, while replicas start and stop', async () => {
  await using house = await openHouse();
  const replicas = [await house.start()];
  let now = 0;
  let most = 0;
  await using receiver = await openReceiver((_hit, response) => {
    now += 1;
    most = Math.max(most, now);
    // In pieces, so that some are in flight when the partition changes hands.
    setTimeout(
      () => {
        now -= 1;
        response.writeHead(204).end();
      },
      5 + Math.random() * 40,
    );
  });
  const acme = house.newClient();
  await acme.ask('register', { body: { url: receiver.url, events: ['supplier.created'], inFlightMax: 1 } });
  await using others = await openReceiver();
  await acme.register(others.url);
  for (let round = 0; round < 6; round += 1) {
    const announced = acme.announce(100);
    replicas.push(await house.start());
    await announced;
    await receiver.received(100 * round + 50, { withinMs: allWithinMs });
    if (replicas.length > 2) await replicas.shift()?.[Symbol.asyncDispose]();
  }
  const hits = await receiver.received(600, { withinMs: allWithinMs });
  expect(new Set(hits.map(({ headers }) => headers['webhook-id'])).size).toBe(600);
  expect(most).toBe(1);
  await others.received(600, { withinMs: allWithinMs });
});

it('a stopping owner cuts off a hanging delivery, and the next owner repeats this delivery before it begins another', async () => {
  await using house = await openHouse();
  const first = await house.start();
  await using receiver = await openReceiver();
  const acme = house.newClient();
  await acme.ask('register', { body: { url: receiver.url, events: ['supplier.created'], inFlightMax: 1 } });
  await acme.announce();
  await receiver.received(1);
  receiver.behave(hang);
  await acme.announce(2);
  const [, hanging] = await receiver.received(2);
  receiver.behave(answer(204));
  await house.start();
  void first[Symbol.asyncDispose]();
  const hits = await receiver.received(4, { withinMs: 40_000 });
  // The owner waits for 500 ms before it cuts off.
  const [again, other] = hits.slice(2);
  expect((again?.atMs ?? 0) - (hanging?.atMs ?? 0)).toBeGreaterThanOrEqual(450);
  expect(again?.headers['webhook-id']).toBe(hanging?.headers['webhook-id']);
  expect(other?.headers['webhook-id']).not.toBe(hanging?.headers['webhook-id']);
});
