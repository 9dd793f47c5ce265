// Callers register and manage endpoints, over the bus as the gateway does.
import { Failure } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openReceiver } from '../../support/receiver.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

let house: House;
let client: Client;
beforeAll(async () => {
  house = await openHouse();
  await house.start({}, { WEBHOOK_ENDPOINTS_MAX: '120' });
  client = house.newClient();
});
afterAll(() => house[Symbol.asyncDispose]());

const url = 'http://127.0.0.1:9/hook';
const registration = { url, events: ['supplier.created', 'sync.completed'] };

async function refusal(asking: Promise<unknown>): Promise<Failure> {
  const error: unknown = await asking.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Failure);
  return error as Failure;
}

const pointersOf = async (of: Client, asked: string) =>
  (await refusal(of.ask('list', { query: asked }))).errors?.map(({ pointer }) => pointer);

/** Of the page that a Link header leads to; empty without one. */
const queryOf = (link: string | undefined): string => /\?(.*)>; rel="next"$/.exec(link ?? '')?.[1] ?? '';

describe('registering a webhook', () => {
  it('answers 201 with the webhook, its secret and its Location', async () => {
    const { status, headers, body } = await client.ask('register', { body: registration });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
      ...registration,
      active: true,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(headers['http-location']).toBe(`/api/v1/integration/webhook-events/${body.id}`);
  });

  it('accepts the same url again, with another id and secret', async () => {
    const [first, second] = [await client.register(url), await client.register(url)];
    expect(second.id).not.toBe(first.id);
    expect(second.secret).not.toBe(first.secret);
  });

  it('stores each kind of events once', async () => {
    const { events } = await client.register(url, ['supplier.created', 'supplier.created']);
    expect(events).toEqual(['supplier.created']);
  });

  it.each([
    ['not JSON', '{', 'invalid_json', /JSON/],
    ['no object', '[]', 'invalid_request', /object/],
    ['no url', '{"events":["supplier.created"]}', 'invalid_request', /url is required/],
    ['no events', `{"url":"${url}"}`, 'invalid_request', /events is required/],
    ['an empty list', `{"url":"${url}","events":[]}`, 'invalid_request', /at least one/],
    [
      'no list',
      `{"url":"${url}","events":"supplier.created"}`,
      'invalid_request',
      /events: expected an array/,
    ],
    [
      'a url that is no text',
      '{"url":5,"events":["supplier.created"]}',
      'invalid_request',
      /url: expected a string/,
    ],
    [
      'a url that is none',
      '{"url":"nonsense","events":["supplier.created"]}',
      'invalid_request',
      /not an absolute url/,
    ],
    [
      'a private address',
      '{"url":"https://10.0.0.1/","events":["supplier.created"]}',
      'invalid_request',
      /private/,
    ],
    [
      'a user in the url',
      '{"url":"https://u@93.184.216.34/","events":["supplier.created"]}',
      'invalid_request',
      /user/,
    ],
    [
      'a port that is not 443',
      '{"url":"https://93.184.216.34:8443/","events":["supplier.created"]}',
      'invalid_request',
      /443/,
    ],
    [
      'a name that does not resolve',
      '{"url":"https://nowhere.invalid/","events":["supplier.created"]}',
      'invalid_request',
      /does not resolve/,
    ],
  ])('refuses %s', async (_name, raw, code, words) => {
    const failure = await refusal(client.ask('register', { raw }));
    expect(failure.code).toBe(code);
    expect(failure.detail).toMatch(words);
  });

  it.each(['register', 'change'])('names a wrong url beside wrong kinds: %s', async (verb) => {
    const { id } = await client.register(url);
    const body = { url: 'https://10.0.0.1/', events: ['x', 'supplier.created', 'y'] };
    const { errors } = await refusal(client.ask(verb, { id, body }));
    expect(errors?.map(({ pointer }) => pointer)).toEqual(['/events/0', '/events/2', '/url']);
  });

  it('names the known kinds beside an unknown kind', async () => {
    const { detail, errors } = await refusal(
      client.ask('register', { body: { url, events: ['supplier.deleted'] } }),
    );
    expect(detail).toMatch(/"supplier.deleted"/);
    for (const kind of ['supplier.created', 'dds.created', 'sync.completed', 'webhook.disabled']) {
      expect(detail).toContain(kind);
    }
    expect(errors?.[0]?.pointer).toBe('/events/0');
  });

  it.each(['register', 'change', 'replay'])(
    'refuses a list that is too long by its length alone: %s',
    async (verb) => {
      const { id } = await client.register(url);
      const events = Array.from({ length: 101 }, () => 'supplier.deleted');
      const body = { url, since: '2026-01-01', events };
      const { detail, errors } = await refusal(client.ask(verb, { id, body }));
      expect(detail).toBe('events: expected at most 100 entries, got an array of 101');
      expect(errors).toEqual([{ pointer: '/events', detail }]);
      const { errors: others } = await refusal(
        client.ask(verb, { id, body: { ...body, events: events.slice(1) } }),
      );
      expect(others).toHaveLength(100);
    },
  );

  it('accepts WEBHOOK_ENDPOINTS_MAX of one integration, and refuses the next with 409', async () => {
    const another = house.newClient();
    for (let n = 0; n < 120; n += 1) await another.register(url);
    expect((await refusal(another.ask('register', { body: registration }))).code).toBe('conflict');
    await expect(house.newClient().register(url)).resolves.toMatchObject({ active: true });
    const { body } = await another.ask('list', { query: 'limit=100&page=2' });
    expect(body).toMatchObject({ total: 120, page: 2, limit: 100 });
    expect(body.entities).toHaveLength(20);
  });
});

describe('concurrent registrations of webhooks', () => {
  it('exceed no limit of endpoints', async () => {
    const another = house.newClient();
    for (let n = 0; n < 110; n += 1) await another.register(url);
    const codes = await Promise.all(
      Array.from({ length: 30 }, () =>
        another.ask('register', { body: registration }).then(
          () => 'taken',
          (error: unknown) => (error instanceof Failure ? error.code : String(error)),
        ),
      ),
    );
    const taken = codes.filter((code) => code === 'taken').length;
    expect(taken).toBeLessThanOrEqual(10);
    expect(codes.filter((code) => code === 'conflict')).toHaveLength(30 - taken);
    expect((await another.ask('list')).body.total).toBe(110 + taken);
    for (let n = taken; n < 10; n += 1) await another.register(url);
    expect((await refusal(another.ask('register', { body: registration }))).code).toBe('conflict');
  });
});

describe('reading webhooks', () => {
  it('shows everything but the secret', async () => {
    const { secret: _secret, ...registered } = await client.register(url);
    const { body } = await client.ask('get', { id: registered.id });
    expect(body).toEqual({ ...registered, disabledAt: null, disabledReason: null, consecutiveFailures: 0 });
  });

  it('lists webhooks in the order of registration, by page', async () => {
    const another = house.newClient();
    const ids = [];
    for (let n = 0; n < 5; n += 1) ids.push((await another.register(url)).id);
    const { body } = await another.ask('list', { query: 'page=2&limit=2' });
    expect(body).toMatchObject({ total: 5, page: 2, limit: 2 });
    expect(body.entities.map(({ id }) => id)).toEqual(ids.slice(2, 4));
    expect((await another.ask('list', { query: 'page=9' })).body).toMatchObject({ entities: [], total: 5 });
    expect((await refusal(another.ask('list', { query: 'page=0' }))).code).toBe('invalid_request');
  });
});

describe('a list of more than one page', () => {
  it('has a cursor to its next page, so that a caller reads each webhook once and in order', async () => {
    const another = house.newClient();
    const ids = [];
    for (let n = 0; n < 7; n += 1) ids.push((await another.register(url)).id);
    const seen: string[] = [];
    const pages = [];
    for (let query = 'limit=3'; query !== '';) {
      const { body, headers } = await another.ask('list', { query });
      pages.push([body.page, body.limit, body.total]);
      seen.push(...body.entities.map(({ id }) => id));
      query = queryOf(headers['http-link']);
      // An endpoint before the cursor does not move the ones after it.
      if (pages.length === 1) await another.ask('remove', { id: ids[0] ?? '' });
    }
    expect(seen).toEqual(ids);
    expect(pages).toEqual([[1, 3, 7], [2, 3, 6], [3, 3, 6]]); // oxfmt-ignore
    const second = await another.ask('list', { query: 'page=2&limit=3' });
    expect(second.body.entities.map(({ id }) => id)).toEqual(ids.slice(4));
    expect(second.headers['http-link']).toBeUndefined();
    const first = await another.ask('list', { query: 'limit=3' });
    expect(first.headers['http-link']).toMatch(
      /^<\/api\/v1\/integration\/webhook-events\?cursor=[\w-]+>; rel="next"$/,
    );
  });

  it('refuses a cursor of another integration, and a page or another limit beside a cursor', async () => {
    const another = house.newClient();
    for (let n = 0; n < 3; n += 1) await another.register(url);
    const { headers } = await another.ask('list', { query: 'limit=2' });
    const query = queryOf(headers['http-link']);
    expect((await another.ask('list', { query: `${query}&limit=2` })).body.entities).toHaveLength(1);
    expect(await pointersOf(house.newClient(), query)).toEqual(['cursor']);
    expect(await pointersOf(another, 'cursor=abc&limit=x')).toEqual(['limit', 'cursor']);
    expect(await pointersOf(another, `${query}&page=2&limit=3`)).toEqual(['page', 'limit']);
  });
});

describe('another integration', () => {
  it.each([
    ['get', undefined],
    ['change', { active: false }],
    ['rotate', {}],
    ['test', undefined],
    ['remove', undefined],
    ['deliveries', undefined],
    ['replay', { since: '2026-01-01' }],
  ])('gets 404 from %s, which changes nothing', async (verb, body) => {
    const { id } = await client.register(url);
    expect((await refusal(house.newClient().ask(verb, { id, body }))).code).toBe('not_found');
    expect((await refusal(client.ask(verb, { id: 'wh_00000000000000000000000000000000', body }))).code).toBe(
      'not_found',
    );
    expect((await client.ask('get', { id })).body).toMatchObject({ active: true });
  });

  it('has no webhook of other integrations in its list', async () => {
    expect((await house.newClient().ask('list')).body).toMatchObject({ entities: [], total: 0 });
  });
});

describe('changing a webhook', () => {
  it('sets given fields and keeps all other fields', async () => {
    const { id } = await client.register(url);
    const { body } = await client.ask('change', { id, body: { events: ['batch.created'] } });
    expect(body).toMatchObject({ id, url, events: ['batch.created'], active: true });
    const moved = await client.ask('change', { id, body: { url: `${url}/2` } });
    expect(moved.body).toMatchObject({ url: `${url}/2`, events: ['batch.created'] });
  });

  it('answers an empty change with the webhook as it is', async () => {
    const { id } = await client.register(url);
    expect((await client.ask('change', { id, body: {} })).body).toMatchObject({ id, url, active: true });
  });

  it('pauses and resumes its deliveries', async () => {
    const { id } = await client.register(url);
    const paused = await client.ask('change', { id, body: { active: false } });
    expect(paused.body).toMatchObject({
      active: false,
      disabledReason: 'manual',
      disabledAt: expect.any(String),
    });
    const again = await client.ask('change', { id, body: { active: false } });
    expect(again.body.disabledAt).toBe(paused.body.disabledAt);
    const resumed = await client.ask('change', { id, body: { active: true } });
    expect(resumed.body).toMatchObject({
      active: true,
      disabledReason: null,
      disabledAt: null,
      consecutiveFailures: 0,
    });
  });

  it.each([
    [{ active: 'true' }, /active: expected true or false/],
    [{ active: null }, /active: expected true or false/],
    [{ url: 'https://192.168.0.1/' }, /private/],
    [{ url: null }, /url: expected a string/],
    [{ events: [] }, /at least one/],
    [{ events: ['x'], active: false }, /events\/0/],
  ])('refuses the body %j as a whole', async (body, words) => {
    const { id } = await client.register(url);
    const failure = await refusal(client.ask('change', { id, body }));
    expect(failure.code).toBe('invalid_request');
    expect(failure.detail).toMatch(words);
    expect((await client.ask('get', { id })).body).toMatchObject({
      url,
      active: true,
      events: ['supplier.created'],
    });
  });
});

describe('rotating a secret', () => {
  it('returns a new secret, and the previous secret signs for another day', async () => {
    const { id, secret } = await client.register(url);
    const before = Date.now();
    const { body } = await client.ask('rotate', { id });
    expect(body.secret).toMatch(/^whsec_/);
    expect(body.secret).not.toBe(secret);
    const lastsMs = Date.parse(body.previousSecretExpiresAt ?? '') - before;
    expect(Math.abs(lastsMs - 24 * 60 * 60 * 1_000)).toBeLessThan(10_000);
  });

  it('refuses a rotation that would end an earlier secret before its grace period, unless it ends all earlier secrets', async () => {
    const { id } = await client.register(url);
    const other = await client.register(url);
    await client.ask('rotate', { id });
    const { body: first } = await client.ask('rotate', { id, body: { gracePeriodSeconds: 3_600 } });
    await client.ask('rotate', { id });
    const { detail, code } = await refusal(client.ask('rotate', { id }));
    expect(code).toBe('conflict');
    expect(detail).toContain('at most 4 secrets');
    expect(detail).toContain(String(first.previousSecretExpiresAt));
    await client.ask('rotate', { id: other.id });
    await client.ask('rotate', { id, body: { gracePeriodSeconds: 0 } });
    expect((await client.ask('rotate', { id })).status).toBe(200);
  });

  it('ends the previous secret immediately with a grace period of 0', async () => {
    const { id } = await client.register(url);
    const { body } = await client.ask('rotate', { id, body: { gracePeriodSeconds: 0 } });
    expect(body.previousSecretExpiresAt).toBeNull();
  });

  it.each([-1, 604_801, 1.5, '60', null, true])(
    'refuses a grace period of %j',
    async (gracePeriodSeconds) => {
      const { id } = await client.register(url);
      const failure = await refusal(client.ask('rotate', { id, body: { gracePeriodSeconds } }));
      expect(failure.code).toBe('invalid_request');
    },
  );
});

describe('deleting a webhook', () => {
  it('answers 204, and the webhook is 404 afterwards', async () => {
    const { id } = await client.register(url);
    const { status, body } = await client.ask('remove', { id });
    expect({ status, body }).toEqual({ status: 204, body: undefined });
    for (const verb of ['get', 'remove', 'test', 'deliveries']) {
      expect((await refusal(client.ask(verb, { id }))).code).toBe('not_found');
    }
  });
});

describe('testing a webhook', () => {
  it('sends a signed delivery to that endpoint only, and returns the answer of the receiver', async () => {
    await using receiver = await openReceiver();
    await using other = await openReceiver();
    const { id } = await client.register(receiver.url, ['sync.completed']);
    await client.register(other.url);
    const { status, body } = await client.ask('test', { id });
    expect(status).toBe(200);
    expect(body).toEqual({
      delivered: true,
      responseStatus: 204,
      durationMs: expect.any(Number),
      error: null,
    });
    expect(receiver.hits).toHaveLength(1);
    expect(receiver.hits[0]?.headers['x-webhook-event']).toBe('webhook.test');
    expect(JSON.parse(receiver.hits[0]?.body ?? '')).toMatchObject({
      event: 'webhook.test',
      integrationId: client.integration,
    });
    expect(other.hits).toHaveLength(0);
  });

  it('is in the attempt log', async () => {
    await using receiver = await openReceiver((_hit, response) => void response.writeHead(500).end());
    const { id } = await client.register(receiver.url);
    await client.ask('test', { id });
    const { entities } = await eventually(
      async () => (await client.ask('deliveries', { id, query: 'event=webhook.test' })).body,
      ({ total }) => total === 1,
    );
    expect(entities).toEqual([
      {
        eventId: receiver.hits[0]?.headers['webhook-id'],
        event: 'webhook.test',
        attempt: 1,
        at: expect.any(String),
        outcome: 'failed',
        responseStatus: 500,
        durationMs: expect.any(Number),
        error: 'the receiver answered 500',
        nextAttemptAt: null,
      },
    ]);
  });

  it('never counts as a failure, and may be sent to a disabled endpoint', async () => {
    await using receiver = await openReceiver((_hit, response) => void response.writeHead(410).end());
    const { id } = await client.register(receiver.url);
    for (let n = 0; n < 12; n += 1) {
      const { body } = await client.ask('test', { id });
      expect(body).toMatchObject({ delivered: false, responseStatus: 410, error: expect.any(String) });
    }
    expect((await client.ask('get', { id })).body).toMatchObject({ active: true, consecutiveFailures: 0 });
    await client.ask('change', { id, body: { active: false } });
    expect((await client.ask('test', { id })).body).toMatchObject({ delivered: false, responseStatus: 410 });
  });

  it('is answered 200 although the receiver takes ten seconds', async () => {
    await using receiver = await openReceiver(() => undefined);
    const { id } = await client.register(receiver.url);
    const { status, body } = await client.ask('test', { id });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      delivered: false,
      responseStatus: null,
      error: expect.stringContaining('timeout'),
    });
    expect(body.durationMs).toBeGreaterThan(9_500);
    expect(body.durationMs).toBeLessThan(12_500);
  });
});

describe('a secret of a webhook', () => {
  it('is in no log line, document, metric and answer but registration and rotation', async () => {
    await using receiver = await openReceiver();
    const webhooks = await house.start();
    const { id, secret } = await client.register(receiver.url);
    const { body } = await client.ask('rotate', { id });
    await client.announce();
    await receiver.received(1);
    const needles = [secret, body.secret].map((text) => text.slice('whsec_'.length));
    const documents = JSON.stringify(
      await house.store.database.collection('webhook_endpoints').find().toArray(),
    );
    const metrics = await (await fetch(webhooks.metricsUrl)).text();
    const answers = JSON.stringify([await client.ask('get', { id }), await client.ask('list')]);
    expect(documents).toContain(id);
    expect(metrics).toContain('webhook_attempts_total');
    for (const place of [house.lines.join('\n'), documents, metrics, answers]) {
      for (const needle of needles) expect(place).not.toContain(needle);
    }
  });
});
