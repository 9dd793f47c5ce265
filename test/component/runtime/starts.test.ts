// Starts in the middle of which the test kills nats-server or stops MongoDB: between the connection and the last thing
// that a service asks.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';
import type { Log } from '@integration-sync/runtime/log';
import { startWebhooks } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import type { Engine } from '@integration-sync/dev/engines';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { openWorld, type World } from '../../support/sync.ts';
import { freeze } from '../../support/freeze.ts';
import { startMongodb } from '../../support/mongodb.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';
import { openKillingProxy } from '../../support/killing-proxy.ts';
import { secretKey } from '../../support/webhooks.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

type Environment = Record<string, string>;

const start = {
  catalog: (environment: Environment, log: Log) =>
    startCatalog(readConfig(CatalogConfig, environment), { log }),
  batches: (environment: Environment, log: Log) =>
    startBatches(readConfig(BatchesConfig, environment), { log }),
  webhooks: (environment: Environment, log: Log) =>
    startWebhooks(readConfig(WebhooksConfig, { ...environment, WEBHOOK_SECRET_KEY: secretKey }), { log }),
};

const health = (service: string): Promise<string> =>
  world.bus.request(`svc.${service}.health.check`, { timeoutMs: 1_000 }).then(() => 'ok', String);

it.each([
  ['catalog', '$JS.API.STREAM.INFO.EVENTS', 1],
  ['catalog', 'SUB svc.catalog.runs.list', 1],
  ['batches', 'SUB svc.batches.runs.list', 1],
  ['webhooks', '$JS.API.STREAM.INFO.EVENTS', 1],
  ['webhooks', '$JS.API.STREAM.INFO.EVENTS', 2],
  ['webhooks', '$JS.API.STREAM.INFO.EVENT_BATCHES', 2],
  ['webhooks', 'SUB svc.webhooks.endpoints.register', 1],
] as const)(
  '%s waits for a nats-server that dies at the message %s (occurrence %i), and then serves',
  async (service, says, times) => {
    await using proxy = await openKillingProxy(world.nats, { says, times });
    const { log, text } = openTestLog();
    const starting = start[service]({ ...world.environment, NATS_URL: proxy.url }, log);
    const failed = starting.then(
      () => 'started',
      (error: unknown) => String(error),
    );
    expect(await Promise.race([proxy.hasKilled.then(() => 'tripped'), failed])).toBe('tripped');
    await eventually(text, (said) => said.includes('nats connection lost'));
    await world.nats.resume();
    expect(await failed).toBe('started');
    await using _running = await starting;
    await eventually(
      () => health(service),
      (answer) => answer === 'ok',
    );
  },
);

it('a start logs what it waits for while nats-server is away', async () => {
  await using proxy = await openKillingProxy(world.nats, { says: 'SUB svc.catalog.runs.list' });
  const { log, text } = openTestLog();
  const starting = start.catalog({ ...world.environment, NATS_URL: proxy.url }, log);
  await proxy.hasKilled;
  await expect.poll(text).toMatch(/"what":"subscriptions of catalog".*"msg":"waiting for nats"/);
  await world.nats.resume();
  await using _running = await starting;
});

it('a waiting start ends at SIGTERM', async () => {
  await using proxy = await openKillingProxy(world.nats, { says: 'SUB svc.catalog.runs.list' });
  const main = join(import.meta.dirname, '../../../services/catalog/src/main.ts');
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, ...world.environment, NATS_URL: proxy.url },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  await proxy.hasKilled;
  child.kill('SIGTERM');
  const toldAt = performance.now();
  expect(await exited).toEqual([0, null]);
  expect(performance.now() - toldAt).toBeLessThan(5_000);
  await world.nats.resume();
});

describe('a MongoDB that stops responding in the middle of a start', { timeout: 60_000 }, () => {
  let mongodb: Engine;
  beforeAll(async () => {
    mongodb = await startMongodb();
  });
  afterAll(() => mongodb[Symbol.asyncDispose]());

  it.each([
    ['catalog', 'catalog_journal'],
    ['batches', 'batches_journal'],
    ['webhooks', 'webhook_endpoints'],
  ] as const)(
    'makes the start of %s begin again, and the service then serves',
    async (service, collection) => {
      await using proxy = await openMongodbProxy(mongodb.url);
      const held = proxy.holdNext('createIndexes', collection);
      const environment = { ...world.environment, LOG_LEVEL: 'info', WEBHOOK_SECRET_KEY: secretKey };
      const child = spawn(process.execPath, [inject('programs')[service]], {
        env: { ...process.env, ...environment, MONGODB_URL: proxy.url },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const said: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
      const saysOrEnds = (words: string): Promise<string[]> =>
        eventually(
          () => said,
          (lines) => child.exitCode !== null || lines.some((line) => line.includes(words)),
          20_000,
        );
      await held;
      {
        using _stopped = await freeze(mongodb.pids());
        await saysOrEnds('begins again');
        expect(child.exitCode).toBeNull();
      }
      proxy.release();
      await saysOrEnds('"msg":"serving"');
      expect(child.exitCode).toBeNull();
      expect(await health(service)).toBe('ok');
    },
  );
});
