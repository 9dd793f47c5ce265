import { createServer } from 'node:http';
import { Failure } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { healthHandlers } from '@integration-sync/runtime/health';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, openStoreProof, type Store } from '@integration-sync/runtime/store';
import { MongoServerError } from 'mongodb';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import { startNats } from '../../support/nats.ts';
import { listen } from '../../support/servers.ts';

const log = openLog({ service: 'test', level: 'silent' });
let store: Store;

beforeAll(async () => {
  store = await openStore({ url: inject('engines').mongodb, database: 'health', log });
});
afterAll(async () => store[Symbol.asyncDispose]());

const request: BusRequest = {
  subject: 'svc.catalog.health.check',
  headers: new Map(),
  body: new Uint8Array(),
  arrivedAtMs: 0,
  isGivenUp: false,
  deadline: performance.now() + 60_000,
  waitedForUntilMs: Infinity,
  isWaitedFor: () => Promise.resolve(true),
  wait: () => {
    throw new Error('it does not wait');
  },
  integration: '',
  requestId: 'test',
  log,
};

function proofOf(of: Pick<Store, 'collection'>) {
  const proof = openStoreProof(of, 'journal', log);
  onTestFinished(() => proof[Symbol.asyncDispose]());
  return proof;
}

/** Asks one process, as often as it is called. */
function checking(
  natsMonitorUrl: string | undefined,
  of: Pick<Store, 'collection'> = store,
): () => Promise<string> {
  const handler = healthHandlers({ service: 'catalog', proof: proofOf(of), natsMonitorUrl })[request.subject];
  if (handler === undefined) throw new Error('no handler');
  return () =>
    handler(request).then(
      ({ body }) => String(body),
      (error: unknown) => (error instanceof Failure ? `${error.code}: ${error.detail}` : String(error)),
    );
}

const check = (natsMonitorUrl: string | undefined, of = store): Promise<string> =>
  checking(natsMonitorUrl, of)();

/** Answers as the monitoring of a nats-server with other settings does. */
async function withMonitor<T>(config: object, use: (url: string) => Promise<T>): Promise<T> {
  await using server = await listen(createServer((_, response) => response.end(JSON.stringify({ config }))));
  return await use(server.url);
}

it('a service is ready while its nats-server has sync_interval: always', async () => {
  await using nats = await startNats();
  expect(nats.monitorUrl).toMatch(/^http:/);
  expect(await check(nats.monitorUrl)).toBe('{"status":"ok"}');
});

it('a service is not ready while its nats-server lacks sync_interval: always, and names the setting', async () => {
  await withMonitor({ store_dir: '/data', sync_interval: 120_000_000_000 }, async (url) => {
    expect(await check(url)).toMatch(/^unavailable: NATS runs without "sync_interval: always"/);
  });
});

it('a service is not ready while NATS_MONITOR_URL does not answer', async () => {
  // The address stands in the log alone, as anyone may ask for readiness.
  expect(await check('http://127.0.0.1:1')).toBe('unavailable: The monitoring of NATS does not answer.');
});

it('a service stays ready when the monitoring of NATS goes away, and is not ready when it returns with bad settings', async () => {
  const now = vi.spyOn(performance, 'now');
  onTestFinished(() => now.mockRestore());
  const later = (): void => void now.mockReturnValue(performance.now() + 31_000);
  const config = { sync_always: true };
  const ask = await withMonitor(config, async (url) => {
    const asking = checking(url);
    expect(await asking()).toBe('{"status":"ok"}');
    config.sync_always = false;
    later();
    expect(await asking()).toMatch(/^unavailable: NATS runs without/);
    config.sync_always = true;
    expect(await asking()).toBe('{"status":"ok"}');
    return asking;
  });
  later();
  expect(await ask()).toBe('{"status":"ok"}');
});

it('a service without NATS_MONITOR_URL trusts the settings of nats-server', async () => {
  expect(await check(undefined)).toBe('{"status":"ok"}');
});

it('a service is not ready while its login lacks a permission at MongoDB, and is ready once MongoDB grants it', async () => {
  const answers = { isRefusing: true };
  const collection: Store['collection'] = (name) => {
    const documents = store.collection<never>(name);
    const updateOne = documents.updateOne.bind(documents);
    return Object.assign(Object.create(documents), {
      findOne: () => documents.findOne(),
      updateOne: (...input: Parameters<typeof updateOne>) =>
        answers.isRefusing
          ? Promise.reject(new MongoServerError({ message: 'not authorized on sync', code: 13 }))
          : updateOne(...input),
    });
  };
  const ask = checking(undefined, { ...store, collection });
  expect(await ask()).toBe('unavailable: MongoDB refuses this service: its login lacks a permission.');
  answers.isRefusing = false;
  expect(await ask()).toBe('{"status":"ok"}');
});

it('a service is not ready while MongoDB is away', async () => {
  const closed = await openStore({ url: inject('engines').mongodb, database: 'health', log });
  await closed[Symbol.asyncDispose]();
  expect(await check(undefined, closed)).toBe('unavailable: MongoDB is away.');
});
