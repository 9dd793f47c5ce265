import { Failure } from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import type { Bus, BusHandler } from '@integration-sync/runtime/bus';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestBus, text } from '../../support/bus.ts';
import { startNats } from '../../support/nats.ts';
import { startStrictNats } from '../../support/strict-nats.ts';

let nats: Engine;
let asking: Bus;
let answering: Bus;

beforeAll(async () => {
  nats = await startNats();
  [asking, answering] = await Promise.all([
    openTestBus(nats.url, 'asking'),
    openTestBus(nats.url, 'answering'),
  ]);
});
afterAll(async () => {
  await asking[Symbol.asyncDispose]();
  await answering[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
});

const serve = (bus: Bus, handlers: Record<string, BusHandler>, inFlightMax = 100) =>
  bus.serve({ service: 'catalog', version: '1.2.3', description: 'Catalog', inFlightMax, handlers });

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Failure) return error;
  throw new Error(`expected a Failure, got ${String(error)}`);
}

it('carries a request and its answer, with their headers', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.echo.ask': async ({ body, headers, integration, requestId, deadline }) => {
      expect(deadline - Date.now()).toBeGreaterThan(500);
      return {
        status: 201,
        headers: { 'x-sync-id': 'abc' },
        logFields: { created: 3 },
        body: `${integration} ${requestId} ${headers.get('query')} ${text(body)}`,
      };
    },
  });
  const reply = await asking.request('svc.catalog.echo.ask', {
    headers: { integration: 'acme', 'request-id': 'r-1', query: 'page=2', id: undefined },
    body: 'hello',
    timeoutMs: 1_000,
  });
  expect(text(reply.body)).toBe('acme r-1 page=2 hello');
  expect(Object.fromEntries(reply.headers)).toEqual({
    status: '201',
    'http-x-sync-id': 'abc',
    'log-created': '3',
  });
});

it('carries a failure as data', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.fail.ask': async () => {
      throw new Failure('too_many_items', 'At most 500.', {
        errors: [{ pointer: '/suppliers', detail: 'x' }],
        retryAfterSeconds: 7,
      });
    },
  });
  const failure = await failureOf(asking.request('svc.catalog.fail.ask', { timeoutMs: 1_000 }));
  expect(failure).toMatchObject({
    code: 'too_many_items',
    detail: 'At most 500.',
    errors: [{ pointer: '/suppliers', detail: 'x' }],
    retryAfterSeconds: 7,
  });
});

it('says nothing of what went wrong inside', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.bug.ask': async () => {
      throw new TypeError('password of the database is hunter2');
    },
  });
  const failure = await failureOf(asking.request('svc.catalog.bug.ask', { timeoutMs: 1_000 }));
  expect(failure.code).toBe('internal');
  expect(JSON.stringify(failure)).not.toContain('hunter2');
});

it('tells nobody there from nobody in time', async () => {
  const gate = Promise.withResolvers<void>();
  await using _ = await serve(answering, {
    'svc.catalog.slow.ask': async () => {
      await gate.promise;
      return {};
    },
  });
  const beganAt = Date.now();
  const nobody = await failureOf(asking.request('svc.batches.none.ask', { timeoutMs: 2_000 }));
  expect(nobody).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  expect(nobody.detail).toContain('batches');
  expect(Date.now() - beganAt).toBeLessThan(500);

  const late = await failureOf(asking.request('svc.catalog.slow.ask', { timeoutMs: 200 }));
  expect(late.code).toBe('timeout');
  gate.resolve();
});

async function connectRaw() {
  const connection = await connect({ servers: nats.url });
  return { nats: connection, [Symbol.asyncDispose]: () => connection.close() };
}

// They take seconds, so they go side by side.
describe.concurrent('a request whose answer takes long', () => {
  it('is waited for while whoever has it in hand lives', async () => {
    await using _ = await serve(answering, {
      'svc.catalog.long.ask': async () => {
        await new Promise((resolve) => setTimeout(resolve, 8_000));
        return { body: 'done' };
      },
    });
    const reply = await asking.request('svc.catalog.long.ask', { timeoutMs: 20_000 });
    expect(text(reply.body)).toBe('done');
  });

  it('is given up within seconds when whoever had it in hand is gone', async () => {
    await using replica = await connectRaw();
    replica.nats.subscribe('svc.catalog.dying.ask', { callback: () => undefined });
    await replica.nats.flush();
    const beganAt = Date.now();
    const failure = await failureOf(asking.request('svc.catalog.dying.ask', { timeoutMs: 30_000 }));
    expect(failure).toMatchObject({ code: 'timeout', detail: expect.stringContaining('gone') });
    expect(Date.now() - beganAt).toBeGreaterThan(4_000);
    expect(Date.now() - beganAt).toBeLessThan(8_000);
  });

  it('is answered but once for whoever knows nothing of signs', async () => {
    await using _ = await serve(answering, {
      'svc.catalog.plain.ask': async () => {
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        return { body: 'done' };
      },
    });
    await using stranger = await connectRaw();
    const answer = await stranger.nats.request('svc.catalog.plain.ask', undefined, { timeout: 10_000 });
    expect(answer.string()).toBe('done');
  });
});

it('tells at once that the server does not let it ask, and asks on for other subjects', async () => {
  await using strict = await startStrictNats({ refused: 'svc.catalog.forbidden.ask' });
  await using bus = await openTestBus(strict.url);
  const beganAt = Date.now();
  const allowed = bus.request('svc.catalog.allowed.ask', { timeoutMs: 10_000 });
  const refused = await failureOf(bus.request('svc.catalog.forbidden.ask', { timeoutMs: 10_000 }));
  expect(refused.code).toBe('unavailable');
  expect(text((await allowed).body)).toBe('ok');
  expect(text((await bus.request('svc.catalog.allowed.ask', { timeoutMs: 10_000 })).body)).toBe('ok');
  expect(Date.now() - beganAt).toBeLessThan(2_000);
});

const askGated = () => asking.request('svc.catalog.gated.ask', { timeoutMs: 5_000 });

it('says busy beyond its bound of a kind, serves the other kinds, and serves again afterwards', async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  let inside = 0;
  await using _ = await serve(
    answering,
    {
      'svc.catalog.gated.ask': async () => {
        inside += 1;
        if (inside === 2) entered.resolve();
        await gate.promise;
        return { body: 'done' };
      },
      'svc.catalog.other.ask': async () => ({ body: 'other' }),
    },
    2,
  );
  const taken = [askGated(), askGated()];
  await entered.promise;
  const busy = await failureOf(askGated());
  expect(busy).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  expect(busy.detail).toContain('busy');
  expect(inside).toBe(2);
  const other = await asking.request('svc.catalog.other.ask', { timeoutMs: 1_000 });
  expect(text(other.body)).toBe('other');
  gate.resolve();
  expect((await Promise.all(taken)).map((reply) => text(reply.body))).toEqual(['done', 'done']);
  expect(text((await askGated()).body)).toBe('done');
});

it('loses no reply when it is drained', async () => {
  const replica = await openTestBus(nats.url, 'draining');
  const served = await serve(replica, {
    'svc.catalog.drain.ask': async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { body: 'done' };
    },
  });
  const asked = Array.from({ length: 50 }, () =>
    asking.request('svc.catalog.drain.ask', { timeoutMs: 5_000 }),
  );
  await new Promise((resolve) => setTimeout(resolve, 30));
  await served[Symbol.asyncDispose]();
  await replica[Symbol.asyncDispose]();
  const replies = await Promise.all(asked);
  expect(replies.map((reply) => text(reply.body))).toEqual(Array.from({ length: 50 }, () => 'done'));
});

it('shares the work of a subject among its replicas, each request once', async () => {
  const replica = await openTestBus(nats.url, 'replica');
  const counts = [0, 0];
  const count = (index: number): Record<string, BusHandler> => ({
    'svc.catalog.shared.ask': async () => {
      counts[index] = (counts[index] ?? 0) + 1;
      return {};
    },
  });
  await using _one = await serve(answering, count(0), 1_000);
  await using _two = await serve(replica, count(1), 1_000);
  await Promise.all(
    Array.from({ length: 200 }, () => asking.request('svc.catalog.shared.ask', { timeoutMs: 2_000 })),
  );
  expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(200);
  expect(Math.min(...counts)).toBeGreaterThan(20);
});

it('answers even when the answer is larger than the server takes', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.large.ask': async () => ({ body: new Uint8Array(asking.maxPayloadBytes + 1) }),
  });
  const failure = await failureOf(asking.request('svc.catalog.large.ask', { timeoutMs: 1_000 }));
  expect(failure.code).toBe('internal');
});

it('tells a failure even when its words are more than the server takes, and serves on', async () => {
  let words = asking.maxPayloadBytes;
  await using _ = await serve(answering, {
    'svc.catalog.wordy.ask': async () => {
      const detail = 'w'.repeat(words);
      throw new Failure('invalid_request', detail, { errors: [{ pointer: '/x', detail }] });
    },
  });
  const failure = await failureOf(asking.request('svc.catalog.wordy.ask', { timeoutMs: 1_000 }));
  expect(failure).toMatchObject({ code: 'invalid_request', detail: expect.stringMatching(/^w{1000}…$/) });
  words = 3;
  const short = await failureOf(asking.request('svc.catalog.wordy.ask', { timeoutMs: 1_000 }));
  expect(short).toMatchObject({ detail: 'www', errors: [{ pointer: '/x', detail: 'www' }] });
});

it('is seen by the micro protocol, with what it serves and how that went', async () => {
  await using _ = await serve(answering, { 'svc.catalog.echo.ask': async () => ({ body: 'x' }) });
  await asking.request('svc.catalog.echo.ask', { timeoutMs: 1_000 });
  const ask = async (subject: string): Promise<Record<string, unknown>> =>
    JSON.parse(text((await asking.request(subject, { timeoutMs: 1_000 })).body)) as Record<string, unknown>;
  expect(await ask('$SRV.PING.catalog')).toMatchObject({
    type: 'io.nats.micro.v1.ping_response',
    name: 'catalog',
    version: '1.2.3',
  });
  expect(await ask('$SRV.INFO.catalog')).toMatchObject({
    type: 'io.nats.micro.v1.info_response',
    description: 'Catalog',
    endpoints: [{ name: 'echo-ask', subject: 'svc.catalog.echo.ask', queue_group: 'catalog' }],
  });
  expect(await ask('$SRV.STATS.catalog')).toMatchObject({
    type: 'io.nats.micro.v1.stats_response',
    endpoints: [{ num_requests: 1, num_errors: 0 }],
  });
});

it('reaches every listener with a broadcast', async () => {
  const heard: string[] = [];
  using _one = asking.listen('control.test', ({ body }) => heard.push(`one ${text(body)}`));
  using _two = answering.listen('control.test', ({ body }) => heard.push(`two ${text(body)}`));
  // Both subscriptions are with the server once a request of their connection was answered.
  await failureOf(asking.request('svc.none.none.ask', { timeoutMs: 500 }));
  await failureOf(answering.request('svc.none.none.ask', { timeoutMs: 500 }));
  asking.broadcast('control.test', 'drop', { endpoint: 'wh_1' });
  await expect.poll(() => heard.toSorted()).toEqual(['one drop', 'two drop']);
});
