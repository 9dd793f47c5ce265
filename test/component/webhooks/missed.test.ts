// What a disabled endpoint misses, and how a replay sends it. Two replicas.
import { Failure } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { answer, openReceiver, idsOf, type Receiver } from '../../support/receiver.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
  await house.start();
  await house.start();
});
afterAll(() => house[Symbol.asyncDispose]());

/** An endpoint that has had an event, so that its circuit is closed. Nothing is in flight any more. */
async function openEndpoint(client: Client, receiver: Receiver, events?: string[]): Promise<string> {
  const { id } = await client.register(receiver.url, events);
  await client.announce();
  await receiver.received(1);
  await eventually(
    async () => (await client.ask('deliveries', { id })).body.entities.length,
    (attempts) => attempts === 1,
  );
  return id;
}

/** Long enough for a delivery that should not come. */
const quiet = () => new Promise((resolve) => setTimeout(resolve, 1_500));
const isActive = async (client: Client, id: string) => (await client.ask('get', { id })).body.active;

describe.concurrent('a disabled endpoint', { timeout: 90_000 }, () => {
  it('gets no earlier event when it is enabled, and all missed events by a replay', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const id = await openEndpoint(client, receiver);
    const { body: paused } = await client.ask('change', { id, body: { active: false } });
    const missed = await client.announce(20);
    await client.ask('change', { id, body: { active: true } });
    await quiet();
    expect(receiver.hits).toHaveLength(1);

    const { status, body } = await client.ask('replay', { id, body: { since: paused.disabledAt } });

    expect({ status, body }).toEqual({ status: 202, body: { queued: 20 } });
    await receiver.received(21);
    expect(idsOf(receiver.hits.slice(1))).toEqual(new Set(missed));
    await client.ask('replay', { id, body: { since: paused.disabledAt } });
    await receiver.received(41);
    expect(idsOf(receiver.hits.slice(21))).toEqual(new Set(missed));
  });

  it('also gets older events that were open at its disabling by a replay since the disabling', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const id = await openEndpoint(client, receiver);
    receiver.behave(answer(500));
    const open = await client.announce(50);
    await receiver.received(2);
    receiver.behave(answer(410));
    await eventually(
      () => isActive(client, id),
      (active) => !active,
    );
    const { disabledAt } = (await client.ask('get', { id })).body;
    // The attempt in flight may end in any way but in success.
    await quiet();
    receiver.behave(answer(204));
    await client.ask('change', { id, body: { active: true } });
    await quiet();
    const before = receiver.hits.length;

    const { body } = await client.ask('replay', { id, body: { since: disabledAt } });

    expect(body.queued).toBe(50);
    await receiver.received(before + 50);
    expect(idsOf(receiver.hits.slice(before))).toEqual(new Set(open));
  });

  it('gets its open events only by a replay that includes the time of the disabling, whose answer counts these events', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const id = await openEndpoint(client, receiver);
    receiver.behave(answer(500));
    await client.announce(10);
    await receiver.received(2);
    const { disabledAt } = (await client.ask('change', { id, body: { active: false } })).body;
    await quiet();
    const later = await client.announce(7);
    receiver.behave(answer(204));
    await client.ask('change', { id, body: { active: true } });
    const justAfter = new Date(Date.parse(disabledAt ?? '') + 1).toISOString();
    const before = receiver.hits.length;

    expect((await client.ask('replay', { id, body: { since: justAfter } })).body.queued).toBe(7);
    await receiver.received(before + 7);
    expect(idsOf(receiver.hits.slice(before))).toEqual(new Set(later));
    expect((await client.ask('replay', { id, body: { since: disabledAt } })).body.queued).toBe(17);
    const untilThen = { since: '2026-01-01', until: disabledAt };
    expect((await client.ask('replay', { id, body: untilThen })).body.queued).toBe(11);
    await receiver.received(before + 7 + 17 + 11);
    await quiet();
    expect(receiver.hits).toHaveLength(before + 7 + 17 + 11);
  });

  it('gets no event from after its disabling by a replay that ends at the disabling', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const id = await openEndpoint(client, receiver);
    receiver.behave(answer(410));
    const open = await client.announce(4);
    await eventually(
      () => isActive(client, id),
      (active) => !active,
    );
    const { disabledAt } = (await client.ask('get', { id })).body;
    await client.announce(7);
    receiver.behave(answer(204));
    await client.ask('change', { id, body: { active: true } });
    const before = receiver.hits.length;

    const since = new Date(Date.parse(disabledAt ?? '') - 1).toISOString();
    const { body } = await client.ask('replay', { id, body: { since: disabledAt, until: disabledAt } });

    expect(body.queued).toBe(4);
    await receiver.received(before + 4);
    expect(idsOf(receiver.hits.slice(before))).toEqual(new Set(open));
    expect((await client.ask('replay', { id, body: { since } })).body.queued).toBe(11);
  });

  it.each([800, 1_000, 60_000])(
    'gets its missed events although the clock of webhooks is %i ms behind',
    async (behindMs) => {
      await using receiver = await openReceiver();
      const client = house.newClient();
      const id = await openEndpoint(client, receiver);
      const { disabledAt } = (await client.ask('change', { id, body: { active: false } })).body;
      const timestamp = new Date(Date.now() + behindMs).toISOString();
      await client.announce(5, 'supplier.created', timestamp);
      await client.ask('change', { id, body: { active: true } });

      const { body } = await client.ask('replay', { id, body: { since: disabledAt } });

      expect(body.queued).toBe(5);
      await receiver.received(6);
    },
  );

  it('refuses a replay until it is enabled', async () => {
    const client = house.newClient();
    const { id } = await client.register('http://127.0.0.1:9/');
    await client.ask('change', { id, body: { active: false } });
    await expect(client.ask('replay', { id, body: { since: '2026-01-01' } })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('gets each of ten thousand undelivered or missed events', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const id = await openEndpoint(client, receiver);
    receiver.behave(answer(503));
    const undelivered = await client.announce(5_000);
    await receiver.received(2);
    const { disabledAt } = (await client.ask('change', { id, body: { active: false } })).body;
    await quiet();
    const missed = await client.announce(5_000);
    receiver.behave(answer(204));
    await client.ask('change', { id, body: { active: true } });
    const before = receiver.hits.length;

    const { body } = await client.ask('replay', { id, body: { since: disabledAt } });

    expect(body.queued).toBe(10_000);
    await receiver.received(before + 10_000, { withinMs: 60_000 });
    expect(idsOf(receiver.hits.slice(before))).toEqual(new Set([...undelivered, ...missed]));
  });
});

const at = (second: number): string => `2026-03-31T10:00:${String(second).padStart(2, '0')}.000Z`;

describe.concurrent('a replay', { timeout: 60_000 }, () => {
  it('sends the events of its span that the endpoint subscribes to, only of the requested kinds, with their own ids', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const { id } = await client.register(receiver.url, ['supplier.created', 'batch.created']);
    const [first] = await client.announce(1, 'supplier.created', at(10));
    const [second] = await client.announce(1, 'batch.created', at(20));
    const [third] = await client.announce(1, 'supplier.created', at(30));
    await client.announce(1, 'product.created', at(20));
    await receiver.received(3);
    const replay = async (body: object) => {
      const from = receiver.hits.length;
      const { queued } = (await client.ask('replay', { id, body })).body;
      await receiver.received(from + queued);
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(receiver.hits).toHaveLength(from + queued);
      return [...idsOf(receiver.hits.slice(from))];
    };
    expect(new Set(await replay({ since: at(9) }))).toEqual(new Set([first, second, third]));
    expect(new Set(await replay({ since: at(10) }))).toEqual(new Set([second, third]));
    expect(await replay({ since: at(10), until: at(20) })).toEqual([second]);
    expect(new Set(await replay({ since: '2026-03-31', events: ['supplier.created'] }))).toEqual(
      new Set([first, third]),
    );
    expect(await replay({ since: '2026-03-31T12:00:29+02:00' })).toEqual([third]);
    expect(await replay({ since: at(31) })).toEqual([]);
    expect(await replay({ since: at(9), events: ['product.created'] })).toEqual([]);
  });

  it.each(['0000-01-01', '0001-01-01', '1601-01-01', '1969-12-31T23:59:59Z'])(
    'sends all events since %s, although the stream cannot look up such a time',
    async (since) => {
      await using receiver = await openReceiver();
      const client = house.newClient();
      const { id } = await client.register(receiver.url);
      await client.announce(2);
      await receiver.received(2);
      expect((await client.ask('replay', { id, body: { since } })).body.queued).toBe(2);
    },
  );

  it.each(['2262-04-12', '9999-12-31T23:59:59-23:59'])('sends nothing since %s', async (since) => {
    const client = house.newClient();
    const { id } = await client.register('http://127.0.0.1:9/');
    await client.announce(2);
    expect((await client.ask('replay', { id, body: { since } })).body.queued).toBe(0);
  });

  it.each([
    [{}, /since is required/],
    [{ since: 'yesterday' }, /since: expected a day/],
    [{ since: '2026-02-30' }, /since: expected a day/],
    [{ since: 5 }, /since: expected a string/],
    [{ since: '2026-03-31', until: '2026-03-30' }, /until: expected a time after since/],
    [{ since: '2026-03-31', events: ['x'] }, /events\/0/],
  ])('refuses %j', async (body, words) => {
    const client = house.newClient();
    const { id } = await client.register('http://127.0.0.1:9/');
    const error = await client.ask('replay', { id, body }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ code: 'invalid_request', detail: expect.stringMatching(words) });
  });

  it('names all errors of its body', async () => {
    const client = house.newClient();
    const { id } = await client.register('http://127.0.0.1:9/');
    const body = { since: 'yesterday', until: 'tomorrow', events: ['supplier.created', 'x'] };
    await expect(client.ask('replay', { id, body })).rejects.toMatchObject({
      errors: [{ pointer: '/events/1' }, { pointer: '/since' }, { pointer: '/until' }],
    });
    const many = { since: 5, until: 'tomorrow', events: Array.from({ length: 101 }, () => 'x') };
    await expect(client.ask('replay', { id, body: many })).rejects.toMatchObject({
      errors: [{ pointer: '/events' }, { pointer: '/since' }, { pointer: '/until' }],
    });
  });
});

describe.concurrent('webhook.disabled', () => {
  it('is delivered to other endpoints and not to the disabled one', async () => {
    await using receiver = await openReceiver();
    await using other = await openReceiver();
    const client = house.newClient();
    const { id, url } = await client.register(receiver.url, ['webhook.disabled']);
    await client.register(other.url, ['webhook.disabled']);
    await client.ask('change', { id, body: { active: false } });
    const [hit] = await other.received(1);
    expect(JSON.parse(hit?.body ?? '')).toEqual({
      event: 'webhook.disabled',
      timestamp: expect.any(String),
      integrationId: client.integration,
      data: { webhookId: id, url, reason: 'manual', consecutiveFailures: 0 },
    });
    await client.ask('change', { id, body: { active: true } });
    expect((await client.ask('replay', { id, body: { since: '2026-01-01' } })).body.queued).toBe(0);
    expect(receiver.hits).toHaveLength(0);
  });
});
