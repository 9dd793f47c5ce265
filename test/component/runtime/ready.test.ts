// GET /ready on the port of the metrics: a rollout must stop at a replica that cannot serve, and a replica that has served must
// stay in service when an engine goes away later.
import { createServer, type RequestListener } from 'node:http';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { findPort } from '../../../dev/process/port.ts';
import type { Engine } from '@integration-sync/dev/engines';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { openGateway, openServices } from '../../support/gateway.ts';
import { startMongodb } from '../../support/mongodb.ts';
import { startNatsWithUsers, type NatsWithUsers } from '../../support/nats-users.ts';
import { runOps } from '../../support/ops.ts';
import { openReplicaSet, serverError } from '../../support/replica-set.ts';
import { listen } from '../../support/servers.ts';

let nats: NatsWithUsers;
let mongodb: Engine;
beforeAll(async () => {
  [nats, mongodb] = await Promise.all([startNatsWithUsers(), startMongodb()]);
  await runOps(['streams', '--apply'], { NATS_URL: nats.urlOf('ops') });
}, 60_000);
// A failed test may have left them dead.
afterEach(async () => {
  await nats.engine.resume();
  await mongodb.resume();
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  await mongodb[Symbol.asyncDispose]();
});

const log = openLog({ service: 'test', level: 'silent' });

async function ask(metricsUrl: string): Promise<string> {
  const answer = await fetch(new URL('/ready', metricsUrl)).catch(() => undefined);
  return answer === undefined ? 'no answer' : `${answer.status} ${(await answer.text()).trim()}`;
}

async function engineIn(metricsUrl: string, engine: string): Promise<string | undefined> {
  const text = await (await fetch(metricsUrl)).text();
  return new RegExp(`^sync_engine_up\\{.*engine="${engine}".*\\} (\\d)$`, 'm').exec(text)?.[1];
}

/** Begins a start, which ends with the test. */
async function beginCatalog(environment: Record<string, string>) {
  const port = await findPort();
  const stop = new AbortController();
  const config = readConfig(CatalogConfig, {
    NATS_URL: nats.urlOf('catalog'),
    MONGODB_URL: mongodb.url,
    MONGODB_DATABASE: `ready_${port}`,
    METRICS_PORT: String(port),
    ...environment,
  });
  const starting = startCatalog(config, { log, signal: stop.signal });
  const ended = starting.then(
    () => 'serves',
    (error: unknown) => String(error),
  );
  onTestFinished(async () => {
    stop.abort(new Error('the test ends'));
    await (await starting.catch(() => undefined))?.[Symbol.asyncDispose]();
  });
  return { metricsUrl: `http://127.0.0.1:${port}/metrics`, ended };
}

describe('catalog', () => {
  it('is not ready while nats-server refuses its password', async () => {
    const { metricsUrl } = await beginCatalog({
      NATS_URL: nats.engine.url.replace('//', '//catalog:wrong@'),
    });
    await expect.poll(() => ask(metricsUrl)).toBe('503 waiting for nats: NATS_URL');
    expect(await engineIn(metricsUrl, 'nats')).toBe('0');
    expect(await engineIn(metricsUrl, 'mongodb')).toBe('1');
  });

  it('is not ready before MongoDB is available', async () => {
    const { metricsUrl } = await beginCatalog({ MONGODB_URL: 'mongodb://127.0.0.1:1' });
    await expect.poll(() => ask(metricsUrl)).toBe('503 waiting for mongodb: MONGODB_URL');
    expect(await engineIn(metricsUrl, 'mongodb')).toBe('0');
    expect(await engineIn(metricsUrl, 'nats')).toBeUndefined();
  });

  it('says that MongoDB is not up while MongoDB answers pings and refuses writes, as with a full disk', async () => {
    await using set = await openReplicaSet(mongodb.url);
    const { metricsUrl, ended } = await beginCatalog({ MONGODB_URL: set.url });
    expect(await ended).toBe('serves');
    expect(await engineIn(metricsUrl, 'mongodb')).toBe('1');
    const full = set.play(({ name }) => (name === 'update' ? serverError(14_031, 'OutOfDiskSpace') : 'pass'));
    await expect.poll(() => engineIn(metricsUrl, 'mongodb')).toBe('0');
    full[Symbol.dispose]();
    await expect.poll(() => engineIn(metricsUrl, 'mongodb')).toBe('1');
  });

  it('does not start with the login of another service, which may not subscribe to its requests', async () => {
    const { ended } = await beginCatalog({ NATS_URL: nats.urlOf('batches') });
    expect(await ended).toMatch(/^ConfigError: NATS_URL: this login may not subscribe to svc\.catalog\./);
  });

  it(
    'is ready once it has begun to serve, and stays ready when MongoDB and NATS become unavailable',
    { timeout: 60_000 },
    async () => {
      const { metricsUrl, ended } = await beginCatalog({});
      expect(await ended).toBe('serves');
      expect(await ask(metricsUrl)).toBe('200 ready');
      for (const [name, engine] of [
        ['mongodb', mongodb],
        ['nats', nats.engine],
      ] as const) {
        engine.hold();
        await engine.kill();
        await expect.poll(() => engineIn(metricsUrl, name), { timeout: 10_000 }).toBe('0');
        expect(await ask(metricsUrl)).toBe('200 ready');
        await engine.resume();
        await expect.poll(() => engineIn(metricsUrl, name), { timeout: 10_000 }).toBe('1');
      }
    },
  );
});

async function beginGateway(...how: Parameters<typeof openGateway>) {
  const gateway = await openGateway(...how);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

describe('the gateway', () => {
  it.each([
    [
      'a wrong password',
      () => nats.engine.url.replace('//', '//gateway:wrong@'),
      '503 waiting for nats: NATS_URL',
    ],
    [
      'the login of another service',
      () => nats.urlOf('catalog'),
      '503 the start has not ended: no service answers requests of the login in NATS_URL',
    ],
  ])('is not ready with %s', async (_name, url, expected) => {
    const { metricsUrl } = await beginGateway(url());
    await expect.poll(() => ask(metricsUrl)).toBe(expected);
  });

  it('is ready once it has the keys of its issuer and a service has answered', async () => {
    const state: { listener: RequestListener } = {
      listener: (_request, answer) => answer.writeHead(500).end(),
    };
    await using issuer = await listen(createServer((request, answer) => state.listener(request, answer)));
    const { metricsUrl, url } = await beginGateway(inject('engines').nats, {
      AUTH_JWKS_URL: `${issuer.url}/`,
    });
    const services = await openServices(inject('engines').nats);
    onTestFinished(() => services[Symbol.asyncDispose]());
    await expect.poll(() => ask(metricsUrl)).toBe('503 waiting for issuer: AUTH_ISSUER, AUTH_JWKS_URL');
    const readiness = async () => (await (await fetch(`${url}/readyz`)).json()) as { notes?: unknown };
    await expect
      .poll(readiness)
      .toMatchObject({ notes: [{ pointer: 'gateway', detail: expect.stringContaining('AUTH_JWKS_URL') }] });
    state.listener = (_request, answer) => answer.end('{"keys":[]}');
    await expect.poll(() => ask(metricsUrl), { timeout: 25_000 }).toBe('200 ready');
    expect(await engineIn(metricsUrl, 'issuer')).toBe('1');
  }, 40_000);
});
