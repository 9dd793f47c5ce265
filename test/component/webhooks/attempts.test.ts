// The attempt log as callers read it, and the line and the metrics of each attempt.
import { Failure } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { answer, openReceiver } from '../../support/receiver.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

let house: House;
let metricsUrl: string;
beforeAll(async () => {
  house = await openHouse();
  ({ metricsUrl } = await house.start());
});
afterAll(() => house[Symbol.asyncDispose]());

async function loggedEndpoint(client: Client, count: number, status = 204) {
  const receiver = await openReceiver(answer(status));
  const { id } = await client.register(receiver.url, ['supplier.created', 'sync.completed']);
  const ids = await client.announce(count);
  const { body } = await eventually(
    () => client.ask('deliveries', { id }),
    (log) => log.body.total >= (status < 300 ? count : 1),
    45_000,
  );
  return { id, ids, receiver, body };
}

describe('the attempt log', () => {
  it('has an entry of each attempt, newest first, by page and by cursor', async () => {
    const client = house.newClient();
    const { id, ids, receiver } = await loggedEndpoint(client, 120);
    await using _closing = receiver;
    const seen: string[] = [];
    let query = 'limit=50';
    const pages = [];
    for (;;) {
      const { body, headers } = await client.ask('deliveries', { id, query });
      pages.push([body.page, body.limit, body.total, body.entities.length]);
      seen.push(...body.entities.map(({ eventId }) => eventId));
      const link = headers['http-link'];
      if (link === undefined) break;
      expect(link).toMatch(
        new RegExp(`^</api/v1/integration/webhook-events/${id}/deliveries\\?cursor=[^>]+>; rel="next"$`),
      );
      query = link.slice(link.indexOf('?') + 1, link.indexOf('>'));
    }
    expect(pages).toEqual([[1, 50, 120, 50], [2, 50, 120, 50], [3, 50, 120, 20]]); // oxfmt-ignore
    expect(new Set(seen)).toEqual(new Set(ids));
    const second = await client.ask('deliveries', { id, query: 'page=2&limit=50' });
    expect(second.body.entities.map(({ eventId }) => eventId)).toEqual(seen.slice(50, 100));
    expect(second.body.entities[0]).toEqual({
      eventId: expect.any(String),
      event: 'supplier.created',
      attempt: 1,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      outcome: 'succeeded',
      responseStatus: 204,
      durationMs: expect.any(Number),
      error: null,
      nextAttemptAt: null,
    });
  });

  it('is filtered by outcome, event and since', async () => {
    const client = house.newClient();
    const { id, receiver } = await loggedEndpoint(client, 3);
    await using _closing = receiver;
    const [eventId] = await client.announce(1, 'sync.completed');
    await eventually(
      () => client.ask('deliveries', { id, query: 'event=sync.completed' }),
      ({ body }) => body.total === 1 && body.entities[0]?.eventId === eventId,
    );
    const total = async (query: string) => (await client.ask('deliveries', { id, query })).body.total;
    expect(await total('outcome=succeeded')).toBe(4);
    expect(await total('outcome=failed')).toBe(0);
    expect(await total('since=2026-01-01')).toBe(4);
    expect(await total(`since=${new Date(Date.now() + 1_000).toISOString()}`)).toBe(0);
  });

  it('shows of a failure the receiver’s answer, the reason and the time of the next attempt', async () => {
    const client = house.newClient();
    const { receiver, body } = await loggedEndpoint(client, 1, 503);
    await using _closing = receiver;
    const entry = body.entities.at(-1);
    expect(entry).toMatchObject({
      attempt: 1,
      outcome: 'failed',
      responseStatus: 503,
      error: 'the receiver answered 503',
    });
    const waitMs = Date.parse(entry?.nextAttemptAt ?? '') - Date.parse(entry?.at ?? '');
    // It counts from the end of the attempt.
    expect(Math.abs(waitMs - (entry?.durationMs ?? 0) - 1_000)).toBeLessThan(300);
  });

  it('returns in X-Next-Since the parameter since of the next poll', async () => {
    const client = house.newClient();
    const { id, receiver } = await loggedEndpoint(client, 1);
    await using _closing = receiver;
    const { headers } = await client.ask('deliveries', { id });
    expect(Date.parse(headers['http-x-next-since'] ?? '')).toBeLessThan(Date.now());
  });

  it('refuses filters that differ from the filters of the cursor', async () => {
    const client = house.newClient();
    const { id, receiver } = await loggedEndpoint(client, 5);
    await using _closing = receiver;
    const { headers } = await client.ask('deliveries', { id, query: 'limit=2&outcome=succeeded' });
    const link = headers['http-link'] ?? '';
    const query = link.slice(link.indexOf('?') + 1, link.indexOf('>'));
    expect((await client.ask('deliveries', { id, query: `${query}&outcome=succeeded` })).body.total).toBe(5);
    const bare = query.replace('&limit=2', '');
    for (const more of [
      'limit=3',
      'page=2',
      'outcome=failed',
      'event=supplier.created',
      'since=2020-01-01',
    ]) {
      const error = await client
        .ask('deliveries', { id, query: `${bare}&${more}` })
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: more.split('=')[0] }] });
    }
  });

  it.each([
    'outcome=maybe',
    'event=supplier.deleted',
    'page=0',
    'limit=x',
    'since=never',
    'cursor=abc',
    'outcome=failed&outcome=failed',
  ])('refuses %s', async (query) => {
    const client = house.newClient();
    const { id } = await client.register('http://127.0.0.1:9/');
    const error = await client.ask('deliveries', { id, query }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ code: 'invalid_request' });
  });

  it('names all mistakes of a query string', async () => {
    const client = house.newClient();
    const { id } = await client.register('http://127.0.0.1:9/');
    const query = 'page=0&limit=x&since=never&outcome=maybe&event=supplier.deleted';
    await expect(client.ask('deliveries', { id, query })).rejects.toMatchObject({
      errors: ['page', 'limit', 'since', 'outcome', 'event'].map((pointer) => ({ pointer })),
    });
  });

  it('of a busy endpoint keeps at least the last thousand attempts', { timeout: 60_000 }, async () => {
    const client = house.newClient();
    const { receiver, body } = await loggedEndpoint(client, 1_500);
    await using _closing = receiver;
    expect(body.total).toBeGreaterThanOrEqual(1_000);
  });
});

it('each attempt is one log line with its endpoint, event, outcome and next step', async () => {
  const client = house.newClient();
  const { id, ids, receiver } = await loggedEndpoint(client, 1);
  await using _closing = receiver;
  const lines = house.lines.filter((line) => line.includes(id)).map((line): object => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({
      msg: 'attempt',
      endpoint: id,
      integration: client.integration,
      eventId: ids[0],
      event: 'supplier.created',
      attempt: 1,
      outcome: 'succeeded',
      status: 204,
      durationMs: expect.any(Number),
      next: 'delivered',
    }),
  ]);
});

it('a push of 500 items to one webhook writes no log line of level info, and a failed attempt writes one', async () => {
  const client = house.newClient();
  const { id, receiver } = await loggedEndpoint(client, 500);
  await using _closing = receiver;
  const lines = house.lines.filter((line) => line.includes(id)).map((line): object => JSON.parse(line));
  expect(lines.length).toBeGreaterThanOrEqual(500);
  expect(lines.filter((line) => !('level' in line) || line.level !== 'debug')).toEqual([]);
  const failing = await client.register('http://127.0.0.1:9/');
  await client.announce();
  const infoOf = (line: string): boolean => line.includes(failing.id) && line.includes('"level":"info"');
  await expect.poll(() => house.lines.filter(infoOf)).not.toEqual([]);
});

const metrics = async (): Promise<string> => (await fetch(metricsUrl)).text();
const disabledIn = (text: string): number =>
  Number(/^webhook_endpoints_disabled\{[^}]*\} (\d+)$/m.exec(text)?.[1]);

it('metrics count attempts, lags, endpoints behind and disabled endpoints', async () => {
  const client = house.newClient();
  const { id } = await client.register('http://127.0.0.1:9/');
  const before = await metrics();
  await client.ask('change', { id, body: { active: false } });
  const text = await metrics();
  for (const name of [
    'webhook_attempts_total',
    'webhook_attempt_seconds',
    'webhook_read_lag_seconds',
    'webhook_delivered_seconds_count',
  ]) {
    expect(text).toContain(name);
  }
  expect(text).toMatch(/webhook_behind\{[^}]*\} \d+\n/);
  expect(disabledIn(text)).toBe(disabledIn(before) + 1);
});

it('the log line of an attempt that disabled the endpoint is a warning', async () => {
  await using receiver = await openReceiver(answer(410));
  const client = house.newClient();
  const { id } = await client.register(receiver.url);
  await client.announce();
  const line = await eventually(
    async () => house.lines.find((one) => one.includes(id)),
    (found) => found !== undefined,
  );
  expect(JSON.parse(line ?? '')).toMatchObject({ level: 'warn', outcome: 'failed', disabled: 'gone' });
});
