import { callerSubject, Failure } from '@integration-sync/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '@integration-sync/dev/engines';
import {
  openBus,
  type Bus,
  type BusHandler,
  type BusRequest,
  type ServiceOptions,
  type Wait,
} from '@integration-sync/runtime/bus';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { chunkItems, nextChunkItems } from '@integration-sync/runtime/pace';
import { connect, headers as natsHeaders } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ending } from '../../support/ending.ts';
import { awake } from '../../support/awake.ts';
import { openTestBus, text } from '../../support/bus.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats, startNatsAs } from '../../support/nats.ts';
import { fastestMs } from '../../support/fastest-try.ts';

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

const serve = (
  bus: Bus,
  handlers: Record<string, BusHandler>,
  inFlightMax = 100,
  semaphores: ServiceOptions['semaphores'] = {},
) =>
  bus.serve({
    service: 'catalog',
    version: '1.2.3',
    description: 'Catalog',
    inFlightMax,
    semaphores,
    handlers,
  });

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Failure) return error;
  throw new Error(`expected a Failure, got ${String(error)}`);
}

it('a request is answered 503 where a stream is missing, and 500 where the handler has a bug', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.echo.ask': async ({ body }) => {
      const { lastSequence } = await answering.streamFacts(text(body));
      return { body: String(lastSequence) };
    },
  });
  const expected = [
    ['NOT_THERE', { code: 'unavailable', retryAfterSeconds: 1 }],
    ['no name. of a stream', { code: 'internal' }],
  ] as const;
  for (const [body, failure] of expected) {
    const asked = asking.request('svc.catalog.echo.ask', { body, timeoutMs: 5_000 });
    expect(await failureOf(asked)).toMatchObject(failure);
  }
});

it('a request and its reply keep their headers', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.echo.ask': async ({ body, headers, integration, requestId, deadline }) => {
      const leftMs = deadline - performance.now();
      expect(leftMs).toBeGreaterThan(5_000);
      expect(leftMs).toBeLessThanOrEqual(10_000);
      return {
        headers: { 'x-sync-id': 'abc' },
        logFields: { created: 3 },
        body: `${integration} ${requestId} ${headers.get('query')} ${text(body)}`,
      };
    },
  });
  const reply = await asking.request('svc.catalog.echo.ask', {
    headers: { integration: 'acme', 'request-id': 'r-1', query: 'page=2', id: undefined },
    body: 'hello',
    timeoutMs: 10_000,
  });
  expect(text(reply.body)).toBe('acme r-1 page=2 hello');
  expect(Object.fromEntries(reply.headers)).toEqual({
    status: '200',
    'http-x-sync-id': 'abc',
    'log-created': '3',
  });
});

it('the failure of a handler reaches the caller with its code, detail, errors and Retry-After', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.fail.ask': async () => {
      throw new Failure('too_many_items', 'At most 500.', {
        errors: [{ pointer: '/suppliers', detail: 'x' }],
        retryAfterSeconds: 7,
      });
    },
  });
  const failure = await failureOf(asking.request('svc.catalog.fail.ask', { timeoutMs: 10_000 }));
  expect(failure).toMatchObject({
    code: 'too_many_items',
    detail: 'At most 500.',
    errors: [{ pointer: '/suppliers', detail: 'x' }],
    retryAfterSeconds: 7,
  });
});

it('every reply has its HTTP status in a header', async () => {
  await using _ = await serve(answering, {
    'svc.webhooks.endpoints.register': async ({ body }) => {
      if (body.length > 0) return {};
      throw new Failure('unavailable', 'Busy.', { retryAfterSeconds: 1 });
    },
  });
  const plain = await connect({ servers: nats.url });
  await using _closing = { [Symbol.asyncDispose]: () => plain.close() };
  const statusOf = async (body: string): Promise<string | undefined> => {
    const reply = await plain.request('svc.webhooks.endpoints.register', body, {
      timeout: 10_000,
      headers: ofTest,
    });
    return reply.headers?.get('status');
  };
  expect([await statusOf('{}'), await statusOf('')]).toEqual(['201', '503']);
});

// A reply goes out with the rights of the service: an answer to these would delete a stream, or reach another handler.
it('a service drops a request whose reply subject is no inbox, and a request that JetStream delivers', async () => {
  const taken: string[] = [];
  await using _ = await serve(answering, {
    'svc.catalog.guarded.ask': async ({ body }) => {
      taken.push(text(body));
      return {};
    },
  });
  await using stranger = await connectRaw();
  const publish = (body: string, reply?: string, header?: [string, string]): void => {
    const ofStranger = natsHeaders();
    ofStranger.set('integration', 'victim');
    if (header !== undefined) ofStranger.set(...header);
    stranger.nats.publish('svc.catalog.guarded.ask', body, {
      headers: ofStranger,
      ...(reply === undefined ? {} : { reply }),
    });
  };
  publish('none');
  for (const reply of [
    '$JS.API.STREAM.DELETE.EVENTS',
    'events.a.b.c',
    'svc.catalog.x',
    '_INBOXES.x',
    '_INBOX',
    '$SYS.x',
  ])
    publish(reply, reply);
  for (const name of ['Nats-Sequence', 'nats-stream', 'NATS-Subject', 'Nats-Msg-Id', 'Nats-Trace-Dest'])
    publish(name, '_INBOX_gateway.x.0', [name, '1']);
  publish('imported', '_INBOX_gateway.x.0', ['Nats-Request-Info', '{}']);
  publish('of a name', '_INBOX_my_service-2.x.0');
  publish('last', '_INBOX.x');
  await stranger.nats.flush();
  await expect.poll(() => taken).toEqual(['imported', 'of a name', 'last']);
});

it('a caller accepts no answer on the subject of interim replies, on which other services may publish', async () => {
  await using stranger = await connectRaw();
  await using _ = await serve(answering, {
    'svc.catalog.honest.ask': async ({ headers }) => {
      const signs = callerSubject(headers.get('caller') ?? '') ?? 'none';
      stranger.nats.publish(signs, 'forged');
      stranger.nats.publish(signs, '', { headers: natsHeaders(503, 'No responders') });
      await stranger.nats.flush();
      return { body: `not on ${signs.split('.', 3).join('.')}` };
    },
  });
  const { body } = await asking.request('svc.catalog.honest.ask', { timeoutMs: 5_000 });
  expect(text(body)).toBe('not on svc.asking.caller');
});

it('a service refuses a request with no integration, an invalid integration, or two integrations', async () => {
  let taken = 0;
  await using _ = await serve(answering, {
    'svc.catalog.named.ask': async () => {
      taken += 1;
      return {};
    },
  });
  await using stranger = await connectRaw();
  const codes: (string | undefined)[] = [];
  for (const named of [[], [''], ['a.b'], ['*'], ['x'.repeat(65)], ['a b'], ['acme', 'victim'], ['acme']]) {
    const asked = natsHeaders();
    for (const one of named) asked.append('integration', one);
    const reply = await stranger.nats.request('svc.catalog.named.ask', '', {
      headers: asked,
      timeout: 10_000,
    });
    codes.push(reply.headers?.get('failure'));
  }
  expect(codes).toEqual([...Array.from({ length: 7 }, () => 'invalid_request'), '']);
  expect(taken).toBe(1);
});

it('a log line has at most 128 characters of each name that a caller sends', async () => {
  const { log, text: logged } = openTestLog();
  await using bus = await openBus({ url: nats.url, name: 'answering', log });
  const lengths: number[] = [];
  await using _ = await serve(bus, {
    'svc.catalog.long.ask': async ({ requestId }) => {
      lengths.push(requestId.length);
      return {};
    },
  });
  const long = 'x'.repeat(300_000);
  const options = { timeoutMs: 10_000 };
  await asking.request('svc.catalog.long.ask', { ...options, headers: { 'request-id': long } });
  await failureOf(asking.request('svc.catalog.long.ask', { ...options, headers: { integration: long } }));
  expect(lengths).toEqual([128]);
  expect(logged().split('"request"')).toHaveLength(3);
  expect(logged().length).toBeLessThan(2_000);
});

it('the reply to a caller does not have the internal cause of a failure', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.bug.ask': async () => {
      throw new TypeError('password of the database is hunter2');
    },
  });
  const failure = await failureOf(asking.request('svc.catalog.bug.ask', { timeoutMs: 10_000 }));
  expect(failure.code).toBe('internal');
  expect(JSON.stringify(failure)).not.toContain('hunter2');
});

it('no responders and a time-out are different errors for the caller', async () => {
  const gate = Promise.withResolvers<void>();
  await using _ = await serve(answering, {
    'svc.catalog.slow.ask': async () => {
      await gate.promise;
      return {};
    },
  });
  using _end = ending(gate);
  const askNobody = async (): Promise<void> => {
    const absent = await failureOf(asking.request('svc.batches.none.ask', { timeoutMs: 2_000 }));
    expect(absent).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
    expect(absent.detail).toContain('batches');
  };
  expect(await fastestMs(5, askNobody)).toBeLessThan(500);

  const late = await failureOf(asking.request('svc.catalog.slow.ask', { timeoutMs: 200 }));
  expect(late.code).toBe('timeout');
});

it('a replica learns whether the caller of a request still waits', async () => {
  const requests: BusRequest[] = [];
  const done = Promise.withResolvers<void>();
  const { log, text: lines } = openTestLog('answering');
  await using logging = await openBus({ url: nats.url, name: 'answering', log });
  await using _ = await serve(logging, {
    'svc.catalog.confirmed.ask': async (request) => {
      requests.push(request);
      await done.promise;
      return { body: 'done' };
    },
  });
  using _end = ending(done);
  await using dying = await openTestBus(nats.url, 'dying');
  const withdrawing = new AbortController();
  const reason = new Failure('timeout', 'withdrawn');
  const asked = [
    asking.request('svc.catalog.confirmed.ask', { timeoutMs: 10_000 }),
    asking.request('svc.catalog.confirmed.ask', { timeoutMs: 3_000 }),
    asking.request('svc.catalog.confirmed.ask', { timeoutMs: 10_000, signal: withdrawing.signal }),
    dying.request('svc.catalog.confirmed.ask', { timeoutMs: 10_000 }),
  ].map((reply) =>
    reply.then(
      ({ body }) => text(body),
      (error: unknown) => error,
    ),
  );
  await expect.poll(() => requests.length).toBe(4);
  const areWaitedFor = () => Promise.all(requests.map((request) => request.isWaitedFor()));
  expect(await areWaitedFor()).toEqual([true, true, true, true]);
  expect(lines()).not.toContain('does not say whether it waits for the reply');
  withdrawing.abort(reason);
  await dying[Symbol.asyncDispose]();
  await asked[1];
  expect((await areWaitedFor()).filter((isWaitedFor) => isWaitedFor)).toHaveLength(1);
  expect(lines()).toMatch(/"subject":"svc\.dying\.caller\..*does not say whether it waits for the reply/);
  done.resolve();
  expect(await Promise.all(asked)).toEqual([
    'done',
    expect.objectContaining({ code: 'timeout' }),
    reason,
    expect.objectContaining({ code: 'unavailable' }),
  ]);
});

it('a replica knows until when a caller waits for a request once the caller has answered a question about an earlier request', async () => {
  const leftMs: number[] = [];
  await using _ = await serve(answering, {
    'svc.catalog.dated.ask': async (request) => {
      leftMs.push(request.waitedForUntilMs - performance.now());
      await request.isWaitedFor();
      return {};
    },
  });
  await using stranger = await connectRaw();
  await stranger.nats.request('svc.catalog.dated.ask', undefined, { timeout: 10_000, headers: ofTest });
  await using known = await openTestBus(nats.url, 'known');
  for (let turn = 0; turn < 20; turn += 1) {
    await known.request('svc.catalog.dated.ask', { timeoutMs: 10_000 });
  }
  const [ofStranger, ofUnknown, ...ofKnown] = leftMs;
  expect([ofStranger, ofUnknown]).toEqual([Infinity, -Infinity]);
  expect(ofKnown).toHaveLength(19);
  expect(Math.max(...ofKnown)).toBeLessThan(500);
  // On a busy machine one of them may come after its time.
  expect(Math.max(...ofKnown)).toBeGreaterThan(0);
});

it('a replica learns which request a caller no longer waits for', async () => {
  const requests = new Map<string, BusRequest>();
  const done = Promise.withResolvers<void>();
  await using _ = await serve(answering, {
    // The first answer of the caller says what its clock says.
    'svc.catalog.met.ask': async (request) => {
      await request.isWaitedFor();
      return {};
    },
    'svc.catalog.withdrawn.ask': async (request) => {
      requests.set(text(request.body), request);
      await done.promise;
      return {};
    },
  });
  using _end = ending(done);
  await asking.request('svc.catalog.met.ask', { timeoutMs: 10_000 });
  const withdrawing = new AbortController();
  const reason = new Failure('timeout', 'withdrawn');
  const withdrawn = failureOf(
    asking.request('svc.catalog.withdrawn.ask', {
      body: 'withdrawn',
      timeoutMs: 10_000,
      signal: withdrawing.signal,
    }),
  );
  const other = asking.request('svc.catalog.withdrawn.ask', { body: 'other', timeoutMs: 10_000 });
  await expect.poll(() => requests.size).toBe(2);
  const isGivenUp = (body: string) => requests.get(body)?.waitedForUntilMs === -Infinity;
  expect(isGivenUp('withdrawn')).toBe(false);
  withdrawing.abort(reason);
  await expect.poll(() => isGivenUp('withdrawn')).toBe(true);
  expect(isGivenUp('other')).toBe(false);
  expect(await withdrawn).toBe(reason);
  done.resolve();
  await other;
});

it('a request on a lost connection fails only after 500 ms, when its replica must ask whether the caller still waits', async () => {
  await using own = await startNats();
  await using bus = await openTestBus(own.url);
  await using replica = await connectTo(own.url);
  const came = Promise.withResolvers<void>();
  replica.nats.subscribe('svc.catalog.cut.ask', { callback: () => came.resolve() });
  await replica.nats.flush();
  const sentAtMs = performance.now();
  const failing = failureOf(bus.request('svc.catalog.cut.ask', { timeoutMs: 10_000 }));
  await came.promise;
  await own.kill();
  expect((await failing).code).toBe('unavailable');
  expect(performance.now() - sentAtMs).toBeGreaterThanOrEqual(500);
});

/** A request is of one integration. */
const ofTest = natsHeaders();
ofTest.set('integration', 'test');

const connectRaw = () => connectTo(nats.url);

async function connectTo(servers: string) {
  const connection = await connect({ servers });
  return { nats: connection, [Symbol.asyncDispose]: () => connection.close() };
}

// They take seconds, so they go side by side.
describe.concurrent('a request whose answer takes long', () => {
  it('keeps its caller waiting while its replica lives', async () => {
    await using _ = await serve(answering, {
      'svc.catalog.long.ask': async () => {
        await new Promise((resolve) => setTimeout(resolve, 8_000));
        return { body: 'done' };
      },
    });
    const reply = await asking.request('svc.catalog.long.ask', { timeoutMs: 20_000 });
    expect(text(reply.body)).toBe('done');
  });

  it('fails within seconds of the death of its replica', async () => {
    await using replica = await connectRaw();
    replica.nats.subscribe('svc.catalog.dying.ask', { callback: () => undefined });
    await replica.nats.flush();
    const beganAt = Date.now();
    const beganAwakeAt = awake();
    const failure = await failureOf(asking.request('svc.catalog.dying.ask', { timeoutMs: 30_000 }));
    expect(failure).toMatchObject({ code: 'timeout', detail: expect.stringContaining('gone') });
    expect(Date.now() - beganAt).toBeGreaterThan(4_000);
    expect(awake() - beganAwakeAt).toBeLessThan(8_000);
  });

  it('is sent again after the death of its replica if it changes nothing', async () => {
    await using replicas = await connectRaw();
    let asked = 0;
    replicas.nats.subscribe('svc.catalog.read.ask', {
      callback(_error, message) {
        asked += 1;
        if (asked > 1) message.respond('done');
      },
    });
    await replicas.nats.flush();
    const reply = await asking.request('svc.catalog.read.ask', { timeoutMs: 30_000, repeatable: true });
    expect([text(reply.body), asked]).toEqual(['done', 2]);
  });

  it('gets a single reply where its caller expects no interim replies', async () => {
    await using _ = await serve(answering, {
      'svc.catalog.plain.ask': async () => {
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        return { body: 'done' };
      },
    });
    await using stranger = await connectRaw();
    const answer = await stranger.nats.request('svc.catalog.plain.ask', undefined, {
      timeout: 10_000,
      headers: ofTest,
    });
    expect(answer.string()).toBe('done');
  });
});

const ok: BusHandler = async () => ({ body: 'ok' });

it('a request without permission fails immediately, and requests on other subjects work', async () => {
  await using strict = await startNatsAs([
    'authorization {',
    '  users: [ { user: me, password: one, permissions: { publish: { deny: svc.catalog.forbidden.ask } } } ]',
    '}',
  ]);
  await using bus = await openTestBus(strict.url.replace('//', '//me:one@'));
  await using _served = await serve(bus, { 'svc.catalog.allowed.ask': ok, 'svc.catalog.forbidden.ask': ok });
  const beganAt = awake();
  const allowed = bus.request('svc.catalog.allowed.ask', { timeoutMs: 10_000 });
  const refused = await failureOf(bus.request('svc.catalog.forbidden.ask', { timeoutMs: 10_000 }));
  expect(refused.code).toBe('unavailable');
  expect(text((await allowed).body)).toBe('ok');
  expect(text((await bus.request('svc.catalog.allowed.ask', { timeoutMs: 10_000 })).body)).toBe('ok');
  expect(awake() - beganAt).toBeLessThan(2_000);
});

const askGated = (integration = 'acme') =>
  asking.request('svc.catalog.gated.ask', { headers: { integration }, timeoutMs: 20_000 });

/** Serves a kind of request that it answers with the integration once a test releases it, and another one. */
async function serveGated(inFlightMax: number, semaphores?: ServiceOptions['semaphores']) {
  const inside: { integration: string; finish: () => void }[] = [];
  let isOver = false;
  const handlers: Record<string, BusHandler> = {
    'svc.catalog.gated.ask': async ({ integration }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      inside.push({ integration, finish: resolve });
      if (!isOver) await promise;
      return { body: integration };
    },
    'svc.catalog.other.ask': async () => ({ body: 'other' }),
  };
  const served = await serve(answering, handlers, inFlightMax, semaphores);
  return {
    inside,
    async [Symbol.asyncDispose]() {
      isOver = true;
      for (const { finish } of inside) finish();
      await served[Symbol.asyncDispose]();
    },
  };
}

it('a service refuses requests on one subject that have waited for two seconds, and serves other subjects meanwhile', async () => {
  await using gated = await serveGated(2);
  const taken = [askGated(), askGated()];
  await expect.poll(() => gated.inside).toHaveLength(2);
  const beganAt = Date.now();
  const beganAwakeAt = awake();
  const waiting = failureOf(askGated());
  const other = await asking.request('svc.catalog.other.ask', {
    headers: { integration: 'acme' },
    timeoutMs: 10_000,
  });
  expect(text(other.body)).toBe('other');
  const busy = await waiting;
  expect(busy).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  expect(busy.detail).toContain('busy');
  expect(Date.now() - beganAt).toBeGreaterThan(1_900);
  expect(awake() - beganAwakeAt).toBeLessThan(3_500);
  expect(gated.inside).toHaveLength(2);
  for (const { finish } of gated.inside) finish();
  expect((await Promise.all(taken)).map((reply) => text(reply.body))).toEqual(['acme', 'acme']);
  const again = askGated();
  await expect.poll(() => gated.inside).toHaveLength(3);
  gated.inside[2]?.finish();
  expect(text((await again).body)).toBe('acme');
});

const chunkThen: BusHandler = async () => ({ body: String(nextChunkItems()) });
const chunkDuring = async (subject: string): Promise<number> =>
  Number(text((await asking.request(subject, { timeoutMs: 10_000 })).body));

it('long work yields to the event loop more often during a request whose subject shares no semaphore with other subjects', async () => {
  const handlers = { 'svc.catalog.long.ask': chunkThen, 'svc.catalog.short.ask': chunkThen };
  await using _ = await serve(answering, handlers, 2, { 'svc.catalog.long.ask': openSemaphore({ max: 2 }) });
  await expect.poll(nextChunkItems).toBe(chunkItems);
  expect(await chunkDuring('svc.catalog.long.ask')).toBe(chunkItems);
  expect(await chunkDuring('svc.catalog.short.ask')).toBeLessThan(chunkItems);
});

it('a service takes waiting requests in turns over integrations', async () => {
  await using gated = await serveGated(1);
  const asked = [];
  for (const integration of ['greedy', 'greedy', 'greedy', 'modest', 'third', 'third']) {
    asked.push(askGated(integration));
  }
  // It came after them, so that they all wait by now.
  await asking.request('svc.catalog.other.ask', { timeoutMs: 20_000 });
  for (let served = 0; served < 6; served += 1) {
    await expect.poll(() => gated.inside).toHaveLength(served + 1);
    gated.inside[served]?.finish();
  }
  await Promise.all(asked);
  expect(gated.inside.map(({ integration }) => integration)).toEqual([
    'greedy', 'greedy', 'modest', 'third', 'greedy', 'third',
  ]); // oxfmt-ignore
});

it('subjects may share one semaphore', async () => {
  const semaphore = openSemaphore({ max: 1 });
  const shared = { 'svc.catalog.gated.ask': semaphore, 'svc.catalog.other.ask': semaphore };
  await using gated = await serveGated(10, shared);
  const first = askGated();
  await expect.poll(() => gated.inside).toHaveLength(1);
  const other = asking.request('svc.catalog.other.ask', { timeoutMs: 5_000 });
  await expect.poll(() => semaphore.waiting).toBe(1);
  gated.inside[0]?.finish();
  await first;
  expect(text((await other).body)).toBe('other');
  expect(semaphore).toMatchObject({ held: 0, waiting: 0 });
});

it('a connection that is drained loses no reply', async () => {
  const replica = await openTestBus(nats.url, 'draining');
  const gate = Promise.withResolvers<void>();
  let inHand = 0;
  const served = await serve(replica, {
    'svc.catalog.drain.ask': async () => {
      inHand += 1;
      await gate.promise;
      return { body: 'done' };
    },
  });
  const asked = Array.from({ length: 50 }, () =>
    asking.request('svc.catalog.drain.ask', { timeoutMs: 20_000 }),
  );
  await expect.poll(() => inHand).toBe(50);
  const draining = served[Symbol.asyncDispose]();
  gate.resolve();
  await draining;
  await replica[Symbol.asyncDispose]();
  const replies = await Promise.all(asked);
  expect(replies.map((reply) => text(reply.body))).toEqual(Array.from({ length: 50 }, () => 'done'));
});

it('replicas of a service share requests, and each request is served once', async () => {
  await using replica = await openTestBus(nats.url, 'replica');
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
    Array.from({ length: 200 }, () => asking.request('svc.catalog.shared.ask', { timeoutMs: 10_000 })),
  );
  expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(200);
  expect(Math.min(...counts)).toBeGreaterThan(20);
});

it('a reply larger than max_payload becomes an error for the caller', async () => {
  await using _ = await serve(answering, {
    'svc.catalog.large.ask': async () => ({ body: new Uint8Array(asking.maxPayloadBytes + 1) }),
  });
  const failure = await failureOf(asking.request('svc.catalog.large.ask', { timeoutMs: 10_000 }));
  expect(failure.code).toBe('internal');
});

it('a failure larger than max_payload reaches the caller, and the service goes on', async () => {
  let words = asking.maxPayloadBytes;
  await using _ = await serve(answering, {
    'svc.catalog.wordy.ask': async () => {
      const detail = 'w'.repeat(words);
      throw new Failure('invalid_request', detail, { errors: [{ pointer: '/x', detail }] });
    },
  });
  const failure = await failureOf(asking.request('svc.catalog.wordy.ask', { timeoutMs: 10_000 }));
  expect(failure).toMatchObject({ code: 'invalid_request', detail: expect.stringMatching(/^w{1000}…$/) });
  words = 3;
  const short = await failureOf(asking.request('svc.catalog.wordy.ask', { timeoutMs: 10_000 }));
  expect(short).toMatchObject({ detail: 'www', errors: [{ pointer: '/x', detail: 'www' }] });
});

it('the NATS micro protocol lists a service with its endpoints and statistics', async () => {
  await using _ = await serve(answering, { 'svc.catalog.echo.ask': async () => ({ body: 'x' }) });
  await asking.request('svc.catalog.echo.ask', { timeoutMs: 10_000 });
  const ask = async (subject: string): Promise<Record<string, unknown>> =>
    JSON.parse(text((await asking.request(subject, { timeoutMs: 10_000 })).body)) as Record<string, unknown>;
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

it('the NATS micro protocol describes the input and the effect of each endpoint', async () => {
  const served = ['suppliers.list', 'suppliers.push', 'suppliers.plan', 'runs.get', 'products.resolve'];
  await using _ = await serve(
    answering,
    Object.fromEntries(served.map((noun) => [`svc.catalog.${noun}`, async () => ({ body: 'x' })])),
  );
  await using stranger = await connectRaw();
  const info = (await stranger.nats.request('$SRV.INFO.catalog', '', { timeout: 5_000 })).json<{
    endpoints: { metadata: object }[];
  }>();
  expect(info.endpoints.map(({ metadata }) => metadata)).toEqual([
    {
      'asked-by': 'any service inside whose login may',
      changes: 'nothing',
      headers: 'integration: its name; query: as in the URL, may be absent',
      schema: '/openapi.json#/paths/~1api~1v1~1integration~1suppliers/get',
      'of-one-integration': 'svc.catalog.suppliers.list.<integration>',
    },
    expect.objectContaining({ 'asked-by': 'the gateway', changes: 'something' }),
    expect.objectContaining({ 'asked-by': 'the gateway', changes: 'nothing' }),
    expect.objectContaining({ headers: 'integration: its name; id: that of the path' }),
    { 'asked-by': 'services of this system' },
  ]);
});

it('a failure has the error headers of the NATS micro protocol, in one line of ASCII', async () => {
  const detail = `line one\r\nline two: Größe ${'x'.repeat(300)}`;
  await using _ = await serve(answering, {
    'svc.catalog.suppliers.list': async () => {
      throw new Failure('conflict', detail);
    },
  });
  await using stranger = await connectRaw();
  const reply = await stranger.nats.request('svc.catalog.suppliers.list.acme', '', { timeout: 5_000 });
  expect(reply.headers?.get('Nats-Service-Error-Code')).toBe('409');
  expect(reply.headers?.get('Nats-Service-Error')).toMatch(/^line one line two: Gr e x{100,}$/);
  expect(reply.headers?.get('failure')).toBe('conflict');
  expect(reply.json()).toEqual({ detail });
});

it('a broadcast reaches every subscriber', async () => {
  const heard: string[] = [];
  using _one = asking.listen('control.test', ({ body }) => heard.push(`one ${text(body)}`));
  using _two = answering.listen('control.test', ({ body }) => heard.push(`two ${text(body)}`));
  // Both subscriptions are with the server once a request of their connection was answered.
  await failureOf(asking.request('svc.none.none.ask', { timeoutMs: 500 }));
  await failureOf(answering.request('svc.none.none.ask', { timeoutMs: 500 }));
  asking.broadcast('control.test', 'drop', { endpoint: 'wh_1' });
  await expect.poll(() => heard.toSorted()).toEqual(['one drop', 'two drop']);
});

describe('a request that waits for something', () => {
  const subject = 'svc.catalog.awaited.ask';

  async function openWaiting(forMs = 20_000) {
    const begun: Wait[] = [];
    const over: boolean[] = [];
    const served = await serve(
      answering,
      {
        [subject]: async (request) => {
          using wait = request.wait(forMs);
          begun.push(wait);
          await wait.woken();
          over.push(wait.isOver);
          return { body: wait.isOver ? 'over' : 'woken' };
        },
      },
      2_000,
    );
    return { begun, over, served };
  }
  const ask = (signal?: AbortSignal) =>
    asking.request(subject, { timeoutMs: 30_000, ...(signal === undefined ? {} : { signal }) }).then(
      ({ body }) => text(body),
      () => 'failed',
    );

  it('causes one interim reply when its wait begins, and none in the next 8 s', async () => {
    const { begun, served } = await openWaiting();
    await using _ = served;
    await using stranger = await connectRaw();
    const signs: string[] = [];
    for (const heard of ['_INBOX_asking.>', 'svc.asking.caller.>'])
      stranger.nats.subscribe(heard, { callback: (_error, { subject: to }) => void signs.push(to) });
    await stranger.nats.flush();
    const answered = ask();
    await sleep(8_000);
    begun[0]?.wake();
    expect(await answered).toBe('woken');
    await stranger.nats.flush();
    // The sign at the beginning, and the answer.
    const [number] = signs.map((to) => to.split('.').at(-1));
    expect(signs.filter((to) => to.endsWith(`.${number}`)).map((to) => to.split('.')[0])).toEqual([
      'svc',
      '_INBOX_asking',
    ]);
  });

  it('ends after its time-out', async () => {
    const { served } = await openWaiting(300);
    await using _ = served;
    expect(await ask()).toBe('over');
  });

  it('ends when its caller stops waiting, while requests of other callers wait on', async () => {
    const { begun, over, served } = await openWaiting();
    await using _ = served;
    const stop = new AbortController();
    const [given, other] = [ask(stop.signal), ask()];
    await expect.poll(() => begun.length).toBe(2);
    stop.abort(new Error('gone'));
    await expect.poll(() => over).toEqual([true]);
    expect(await given).toBe('failed');
    for (const wait of begun) wait.wake();
    expect(await other).toBe('woken');
  });

  it('is answered once its calling process calls answerNow(), while requests of other processes wait on', async () => {
    const { begun, served } = await openWaiting();
    await using _ = served;
    await using third = await openTestBus(nats.url, 'third');
    const answered = ask();
    const others = third.request(subject, { timeoutMs: 30_000 }).then(({ body }) => text(body));
    await expect.poll(() => begun.length).toBe(2);
    // The sign of the wait may still be on its way.
    await sleep(200);
    asking.answerNow();
    expect(await answered).toBe('over');
    for (const wait of begun) wait.wake();
    expect(await others).toBe('woken');
  });

  it('is answered immediately by a stopping replica, also if the request arrives late', async () => {
    const { begun, served } = await openWaiting();
    const answered = Array.from({ length: 300 }, () => ask());
    await expect.poll(() => begun.length).toBe(300);
    const startedAt = awake();
    await served[Symbol.asyncDispose]();
    expect(new Set(await Promise.all(answered))).toEqual(new Set(['over']));
    expect(awake() - startedAt).toBeLessThan(3_000);
  });
});

describe('a listing with an integration at the end of its subject', () => {
  const subject = 'svc.catalog.suppliers.list';
  const listing: BusHandler = async ({ integration, headers, subject: named }) => ({
    body: JSON.stringify([integration, headers.get('integration'), named, subject === named]),
  });

  it('takes the integration from its subject and not from a header, and counts in the statistics of the listing', async () => {
    await using _ = await serve(answering, { [subject]: listing, 'svc.catalog.suppliers.push': listing });
    await using stranger = await connectRaw();
    for (const headed of ['other', 'acme', 'a.b', '*', ''])
      expect(
        JSON.parse(
          text(
            (await asking.request(`${subject}.acme`, { headers: { integration: headed }, timeoutMs: 5_000 }))
              .body,
          ),
        ),
      ).toEqual(['acme', 'acme', subject, true]);
    const bare = await stranger.nats.request(`${subject}.acme`, '', { timeout: 5_000 });
    expect(bare.json()).toEqual(['acme', 'acme', subject, true]);
    const two = natsHeaders();
    two.append('integration', 'one');
    two.append('integration', 'other');
    const both = await stranger.nats.request(`${subject}.acme`, '', { headers: two, timeout: 5_000 });
    expect(both.json()).toEqual(['acme', 'acme', subject, true]);
    const stats = (await stranger.nats.request('$SRV.STATS.catalog', '', { timeout: 5_000 })).json<{
      endpoints: { subject: string; num_requests: number }[];
    }>();
    expect(stats.endpoints).toMatchObject([
      { subject, num_requests: 7 },
      { subject: 'svc.catalog.suppliers.push', num_requests: 0 },
    ]);
  });

  it('is refused if the integration is invalid; a push with an integration at the end of its subject has no responders', async () => {
    await using _ = await serve(answering, { [subject]: listing, 'svc.catalog.suppliers.push': listing });
    const ask = (end: string, of = subject) =>
      failureOf(asking.request(`${of}.${end}`, { headers: { integration: 'acme' }, timeoutMs: 5_000 }));
    for (const end of ['*', '>', 'x'.repeat(300), 'Größe', '$acme'])
      expect(await ask(end)).toMatchObject({
        code: 'invalid_request',
        detail: expect.stringContaining('The end of the subject must name one integration'),
      });
    for (const [end, of] of [['acme.more'], ['acme', 'svc.catalog.suppliers.push']] as const)
      expect(await ask(end, of)).toMatchObject({ code: 'unavailable' });
  });
});
