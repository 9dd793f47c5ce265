import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setInterval } from 'node:timers/promises';
import { Failure, healthSubject } from '@integration-sync/contracts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bearer } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';

// Whether /readyz reports correctly which services and engines answer. Each test has a NATS of its own.

let stack: AsyncDisposableStack;
let nats: Awaited<ReturnType<typeof startNats>>;
let gateway: TestGateway;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  nats = stack.use(await startNats());
  gateway = stack.use(await openGateway(nats.url));
});
afterEach(() => stack.disposeAsync());

const ready = (): Promise<Response> => fetch(`${gateway.url}/readyz`);
const expectAway = (answer: Response) =>
  expectProblem(answer, { status: 503, code: 'unavailable', headers: { 'retry-after': '1' } });

const missMongo = () => {
  throw new Failure('unavailable', 'MongoDB is away.');
};

describe('with all services available the gateway', () => {
  it('answers /readyz with 200, and names its services', async () => {
    stack.use(await openServices(nats.url));
    const answer = await ready();
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      status: 'ready',
      services: { catalog: 'ok', batches: 'ok', webhooks: 'ok' },
    });
  });

  it('checks the services once for concurrent probes, and again a second later', async () => {
    const probes = 50;
    let arrived = 0;
    const allArrived = Promise.withResolvers<void>();
    const arrive = (): void => {
      arrived += 1;
      if (arrived === probes) allArrived.resolve();
    };
    subscribe('http.server.request.start', arrive);
    stack.defer(() => void unsubscribe('http.server.request.start', arrive));
    const asked = await countChecks(() => allArrived.promise);
    await Promise.all(Array.from({ length: probes }, ready));
    expect(asked()).toBe(1);
    const askAgain = async () => {
      await ready();
      return asked();
    };
    await expect.poll(askAgain, { timeout: 10_000 }).toBe(2);
  });

  // Thousands of pipelined probes that waited for one answer would all be answered in one turn of the event loop.
  it('renews a readiness answer before it is too old, and serves no older answer', async () => {
    const rememberedMs = 1_500;
    const over = Promise.withResolvers<void>();
    let round = Promise.resolve();
    const asked = await countChecks(() => round);
    const remembering = stack.use(await openGateway(nats.url, {}, { readinessRememberedMs: rememberedMs }));
    stack.defer(() => over.resolve());
    const probe = async () => (await fetch(`${remembering.url}/readyz`)).status;
    expect(await probe()).toBe(200);
    const answeredAt = performance.now();
    round = over.promise;
    const good: { ageMs: number; rounds: number }[] = [];
    for await (const ageMs of ages(answeredAt)) {
      if ((await probe()) !== 200) break;
      good.push({ ageMs, rounds: asked() });
    }
    expect(good.filter(({ rounds }) => rounds === 2)).not.toEqual([]);
    expect(good.filter(({ ageMs }) => ageMs > rememberedMs)).toEqual([]);
  });

  it('serves a remembered readiness answer for its lifetime, also a 503', async () => {
    const remembering = stack.use(await openGateway(nats.url, {}, { readinessRememberedMs: 600_000 }));
    const probe = () => fetch(`${remembering.url}/readyz`);
    await expectAway(await probe());
    const asked = await countChecks(undefined, [gateway, remembering]);
    await expectAway(await probe());
    expect(asked()).toBe(0);
    expect((await ready()).status).toBe(200);
    expect(asked()).toBe(1);
    const forgetful = stack.use(await openGateway(nats.url, {}, { readinessRememberedMs: 0 }));
    for (const times of [2, 3]) {
      expect((await fetch(`${forgetful.url}/readyz`)).status).toBe(200);
      expect(asked()).toBe(times);
    }
  });
});

/** Every 10 ms how long ago that was. */
async function* ages(sinceMs: number): AsyncGenerator<number> {
  for await (const _ of setInterval(10)) yield performance.now() - sinceMs;
}

/** Starts the services. Counts how often the gateways ask catalog for its health once they have heard a service. */
async function countChecks(
  before = async (): Promise<void> => undefined,
  gateways = [gateway],
): Promise<() => number> {
  let asked = 0;
  const check = async () => {
    asked += 1;
    await before();
    return { body: '{}' };
  };
  stack.use(await openServices(nats.url, { [healthSubject('catalog')]: check }));
  for (const { metricsUrl } of gateways)
    await eventually(
      async () => (await fetch(new URL('/ready', metricsUrl))).status,
      (status) => status === 200,
    );
  asked = 0;
  return () => asked;
}

describe('with a service or an engine unavailable the gateway', () => {
  it('names every unavailable service at /readyz, and is 200 at /healthz', async () => {
    const problem = await expectAway(await ready());
    expect(problem['errors']).toEqual(
      ['catalog', 'batches', 'webhooks'].map((pointer) => ({
        pointer,
        detail: expect.stringContaining(pointer),
      })),
    );
    const health = await fetch(`${gateway.url}/healthz`);
    expect({ status: health.status, body: await health.json() }).toEqual({
      status: 200,
      body: { status: 'ok' },
    });
  });

  it('names the engine that a service cannot reach', async () => {
    stack.use(await openServices(nats.url, { [healthSubject('batches')]: missMongo }));
    const problem = await expectAway(await ready());
    expect(problem['errors']).toEqual([{ pointer: 'batches', detail: 'MongoDB is away.' }]);
  });

  it('answers within 3 s that it is not ready where a service does not answer', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    stack.use(await openServices(nats.url, { [healthSubject('webhooks')]: () => promise }));
    stack.defer(() => resolve({}));
    const startedAt = awake();
    const problem = await expectAway(await ready());
    expect(awake() - startedAt).toBeLessThan(3_000);
    expect(problem['errors']).toMatchObject([{ pointer: 'webhooks' }]);
  });
});

describe('with NATS unavailable the gateway', () => {
  it('is unready immediately, answers requests with 503, and is ready again when NATS is back', async () => {
    stack.use(await openServices(nats.url));
    expect((await ready()).status).toBe(200);
    nats.hold();
    await nats.kill();
    await expect.poll(async () => (await ready()).status).toBe(503);
    const problem = await expectAway(await ready());
    expect(problem['errors']).toMatchObject([{ pointer: 'nats' }]);
    const startedAt = awake();
    await expectAway(await fetch(`${gateway.url}/api/v1/integration/suppliers`, { headers: bearer() }));
    expect(awake() - startedAt).toBeLessThan(1_000);
    await nats.resume();
    await expect.poll(async () => (await ready()).status, { timeout: 10_000 }).toBe(200);
  });

  it('starts, and is ready once NATS is available', async () => {
    nats.hold();
    await nats.kill();
    const early = stack.use(await openGateway(nats.url));
    const problem = await expectAway(await fetch(`${early.url}/readyz`));
    expect(problem['errors']).toMatchObject([{ pointer: 'nats' }]);
    await expectAway(await fetch(`${early.url}/api/v1/integration/suppliers`, { headers: bearer() }));
    expect((await fetch(`${early.url}/api/v1/integration/suppliers`)).status).toBe(401);
    await nats.resume();
    stack.use(await openServices(nats.url));
    await expect.poll(async () => (await fetch(`${early.url}/readyz`)).status, { timeout: 10_000 }).toBe(200);
  });
});
