import { randomUUID } from 'node:crypto';
import { Failure } from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import type { StreamSpec } from '@integration-sync/runtime/bus';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { awake } from '../../support/awake.ts';
import { openFollower, openTestBus, text } from '../../support/bus.ts';
import { ending } from '../../support/ending.ts';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { startNats, startNatsAs } from '../../support/nats.ts';
import { fastestMs } from '../../support/fastest-try.ts';

let nats: Engine;

beforeAll(async () => {
  nats = await startNats();
});
// A failed test may have left it dead.
afterEach(() => nats.resume());
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
});

it('a connection notifies its listeners after an outage that messages may be missing', async () => {
  await using bus = await openTestBus(nats.url, 'listening');
  let missed = 0;
  using _listening = bus.listen(
    'some.news',
    () => undefined,
    () => void (missed += 1),
  );
  expect(missed).toBe(0);
  await nats.kill();
  await eventually(
    () => missed,
    (count) => count === 1,
    20_000,
  );
});

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: unknown) => (error instanceof Failure ? error.code : String(error)),
  );

// Setup: one bus asks, another answers slowly, a third consumes; then the server is killed and comes back.
// What this proves: callers that wait get an error at once; while the server is away every request fails at
// once; when it is back everything works again, and the stored messages are there, without an operator's
// help.
it('waiting requests fail immediately when nats-server is gone, and later requests work when it is back', async () => {
  await using asking = await openTestBus(nats.url, 'asking');
  await using answering = await openTestBus(nats.url, 'answering');
  const entered = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await using _served = await answering.serve({
    service: 'catalog',
    version: '1.0.0',
    description: 'Catalog',
    inFlightMax: 10,
    handlers: {
      'svc.catalog.slow.ask': async () => {
        entered.resolve();
        await released.promise;
        return { body: 'done' };
      },
    },
  });
  using _end = ending(released);
  const tried = randomUUID();
  const subject = `events.${tried}.a`;
  const stream: StreamSpec = {
    name: `EVENTS-${tried}`,
    description: 'test',
    subjects: [`events.${tried}.>`],
    retention: 'limits',
    discard: 'new',
    atomicBatches: true,
  };
  await asking.ensureStream(stream);
  await using following = openFollower(asking, stream.name, {
    filters: stream.subjects,
    ensure: () => asking.ensureStream(stream),
  });
  await asking.publishBatch([{ subject, id: 'before', body: 'before' }]);
  await eventually(
    () => following.seen.length,
    (count) => count === 1,
  );

  const waiting = codeOf(asking.request('svc.catalog.slow.ask', { timeoutMs: 20_000 }));
  await entered.promise;
  nats.hold();
  const killedAt = awake();
  await nats.kill();
  expect(await waiting).toBe('unavailable');
  expect(awake() - killedAt).toBeLessThan(1_000);
  expect(asking.connected).toBe(false);
  const failing = async (): Promise<void> => {
    expect(await codeOf(asking.request('svc.catalog.slow.ask', { timeoutMs: 20_000 }))).toBe('unavailable');
    expect(await codeOf(asking.publishBatch([{ subject, id: 'lost', body: 'lost' }]))).toBe('unavailable');
  };
  expect(await fastestMs(5, failing)).toBeLessThan(200);

  released.resolve();
  await nats.resume();
  const reply = await eventually(
    () => asking.request('svc.catalog.slow.ask', { timeoutMs: 1_000 }).then(({ body }) => text(body), String),
    (answer) => answer === 'done',
    15_000,
  );
  expect(reply).toBe('done');
  await eventually(
    () => codeOf(asking.publishBatch([{ subject, id: 'after', body: 'after' }])),
    (code) => code === 'ok',
  );
  await eventually(() => following.seen.includes('after'), Boolean);
  expect(following.seen).toEqual(['before', 'after']);
});

const passwordOf = (user: string): string[] => [`authorization { user: ${user}, password: one }`];

it('a connection recovers by itself from a nats-server that rejects its login for a while', async () => {
  await using server = await startNatsAs(passwordOf('me'));
  await using bus = await openTestBus(server.url.replace('//', '//me:one@'));
  const { promise: heard, resolve } = Promise.withResolvers<void>();
  using _listening = bus.listen('some.news', () => resolve());
  await server.reconfigure(passwordOf('another'));
  const rejections = async (): Promise<number> => {
    const closed = await fetch(`${server.monitorUrl}/connz?state=closed`);
    return (await closed.text()).split('Authentication Failure').length - 1;
  };
  await eventually(rejections, (count) => count >= 4);
  expect(bus.connected).toBe(false);
  await server.reconfigure(passwordOf('me'));
  await eventually(() => bus.connected, Boolean, 10_000);
  bus.broadcast('some.news', 'back');
  await heard;
});

it('a connection closes without an error while nats-server goes away', async () => {
  for (let round = 0; round < 5; round += 1) {
    await using server = await startNats();
    const bus = await openTestBus(server.url);
    server.hold();
    const [closed] = await Promise.all([bus[Symbol.asyncDispose](), server.kill()]);
    expect(closed).toBeUndefined();
  }
});

it('a connection waits for a nats-server that does not run yet', async () => {
  nats.hold();
  await nats.kill();
  const opening = openTestBus(nats.url, 'early');
  const early = await Promise.race([
    opening.then(() => 'open'),
    new Promise((resolve) => setTimeout(() => resolve('waiting'), 500)),
  ]);
  await nats.resume();
  await using bus = await opening;
  expect(early).toBe('waiting');
  expect(bus.connected).toBe(true);
});

it('a connection notices within 3 s that nats-server is stopped, logs the stop, and recovers once nats-server is resumed', async () => {
  await using asking = await openTestBus(nats.url, 'asking');
  await using answering = await openTestBus(nats.url, 'answering');
  await using _served = await answering.serve({
    service: 'catalog',
    version: '1.0.0',
    description: 'Catalog',
    inFlightMax: 10,
    handlers: { 'svc.catalog.some.ask': async () => ({ body: 'done' }) },
  });
  const ask = () => asking.request('svc.catalog.some.ask', { timeoutMs: 20_000 });
  expect(await codeOf(ask())).toBe('ok');
  {
    using _frozen = await freeze(nats.pids());
    const askedAt = awake();
    expect(await codeOf(ask())).toBe('unavailable');
    expect(awake() - askedAt).toBeLessThan(3_000);
    const failing = async () => expect(await codeOf(ask())).toBe('unavailable');
    expect(await fastestMs(5, failing)).toBeLessThan(200);
  }
  await eventually(
    () => codeOf(ask()),
    (code) => code === 'ok',
    15_000,
  );
});
