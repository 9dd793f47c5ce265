// What an operator can see of pushes from outside.
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import type { Engine } from '@integration-sync/dev/engines';
import { findPort } from '@integration-sync/dev/port';
import { readConfig } from '@integration-sync/runtime/config';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ending } from '../../support/ending.ts';
import { eventually } from '../../support/eventually.ts';
import { openKillingProxy } from '../../support/killing-proxy.ts';
import { openTestLog } from '../../support/log.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';
import { startMongodb } from '../../support/mongodb.ts';
import { openWorld, type World } from '../../support/sync.ts';

let mongodb: Engine;
let world: World;

beforeAll(async () => {
  mongodb = await startMongodb();
  world = await openWorld(mongodb.url);
});
// A failed test may have left it dead.
afterEach(() => world.nats.resume());
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await mongodb[Symbol.asyncDispose]();
});

/** The values of a metric by its labels, without the one that names the service. */
async function read(url: string, name: string): Promise<Record<string, number>> {
  const text = await (await fetch(url)).text();
  const values = text.matchAll(new RegExp(`^${name}\\{(.*?),?service="catalog"\\} (\\S+)$`, 'gm'));
  return Object.fromEntries([...values].map(([, labels, value]) => [labels, Number(value)]));
}

const one = async (url: string, name: string): Promise<number | undefined> => (await read(url, name))[''];

const item = (externalId: string, name = 'N') => ({ externalId, name });

it('metrics count items by kind and outcome', async () => {
  await using catalog = await world.startCatalog();
  const caller = world.caller();
  await caller.push('suppliers', [item('a'), item('b'), item('c')]);
  await caller.push('suppliers', [item('a'), item('b', 'M'), { externalId: 'd' }]);
  await caller.push('products', [item('p')]);
  expect(await read(catalog.metricsUrl, 'sync_items_total')).toEqual({
    'kind="suppliers",outcome="created"': 3,
    'kind="suppliers",outcome="updated"': 1,
    'kind="suppliers",outcome="unchanged"': 1,
    'kind="suppliers",outcome="failed"': 1,
    'kind="products",outcome="created"': 1,
    'kind="products",outcome="updated"': 0,
    'kind="products",outcome="unchanged"': 0,
    'kind="products",outcome="failed"': 0,
  });
});

it('metrics have the number of running pushes of a replica and of pushes that wait', async () => {
  const released = Promise.withResolvers<void>();
  await using catalog = await world.startCatalog({
    onStage: async (stage) => (stage === 'after-entry' ? released.promise : undefined),
  });
  const caller = world.caller();
  const pushes = Array.from({ length: 6 }, (_, n) =>
    caller.push('suppliers', [{ externalId: `${n}`, name: 'N' }]),
  );
  try {
    await eventually(
      () => one(catalog.metricsUrl, 'sync_pushes_waiting'),
      (waiting) => waiting === 2,
    );
    expect(await one(catalog.metricsUrl, 'sync_pushes_inside')).toBe(4);
  } finally {
    released.resolve();
  }
  await Promise.all(pushes);
  expect(await one(catalog.metricsUrl, 'sync_pushes_inside')).toBe(0);
});

it('metrics have the number and age of unannounced pushes, and takeovers', { timeout: 60_000 }, async () => {
  const died = Promise.withResolvers<void>();
  const caller = world.caller();
  await using catalog = await world.startCatalog();
  const backlog = async () => ({
    count: await one(catalog.metricsUrl, 'sync_pushes_unannounced'),
    seconds: await one(catalog.metricsUrl, 'sync_unannounced_seconds'),
  });
  await eventually(backlog, ({ count }) => count === 0);
  await catalog[Symbol.asyncDispose]();

  await using stuck = await world.startCatalog({
    async onStage(stage) {
      if (stage === 'after-writes') await died.promise;
    },
  });
  using _end = ending(died);
  const lost = caller.push('suppliers', [{ externalId: 'a', name: 'N' }]).catch(() => undefined);
  await eventually(
    () => one(stuck.metricsUrl, 'sync_pushes_unannounced'),
    (count) => count === 1,
  );
  await using survivor = await world.startCatalog();
  const waited = await eventually(
    () => one(survivor.metricsUrl, 'sync_unannounced_seconds'),
    (seconds) => (seconds ?? 0) >= 1,
  );
  expect(waited).toBeLessThan(20);
  // Whichever comes first.
  const recovered = async () => {
    const each = await Promise.all(
      [stuck, survivor].map(({ metricsUrl }) => one(metricsUrl, 'sync_pushes_recovered_total')),
    );
    return each.reduce<number>((sum, count = 0) => sum + count, 0);
  };
  await eventually(recovered, (count) => count === 1, 40_000);
  expect(await one(survivor.metricsUrl, 'sync_pushes_unannounced')).toBe(0);
  expect(await one(survivor.metricsUrl, 'sync_unannounced_seconds')).toBe(0);
  died.resolve();
  await lost;
});

// Kubernetes restarts a process whose metrics take 3 s three times in a row, and Prometheus drops a scrape of 10 s.
it.each([
  ['catalog_journal', 'sync_unannounced_seconds'],
  ['catalog_expectations', 'sync_overdue'],
])(
  'metrics are served in time, with NaN for values that MongoDB does not answer from %s',
  async (from, name) => {
    await using proxy = await openMongodbProxy(mongodb.url);
    const environment = { ...world.environment, MONGODB_URL: proxy.url };
    await using catalog = await startCatalog(readConfig(CatalogConfig, environment), {
      log: openTestLog().log,
    });
    const held = proxy.holdNext('aggregate', from);
    const reading = fetch(catalog.metricsUrl, { signal: AbortSignal.timeout(9_000) });
    await held;
    const text = await (await reading).text();
    expect(text).toMatch(new RegExp(`^${name}\\{.*\\} Nan$`, 'm'));
    expect(text).toMatch(/^sync_engine_up\{engine="mongodb",service="catalog"\} 1$/m);
    proxy.release();
  },
);

it('metrics have the number of unannounced pushes while NATS dies during a start', async () => {
  const died = Promise.withResolvers<void>();
  await using stuck = await world.startCatalog({
    onStage: async (stage) => (stage === 'after-writes' ? died.promise : undefined),
  });
  using _end = ending(died);
  const lost = world
    .caller()
    .push('suppliers', [item('a')])
    .catch(() => undefined);
  await eventually(
    () => one(stuck.metricsUrl, 'sync_pushes_unannounced'),
    (count) => count === 1,
  );
  const port = await findPort();
  await using proxy = await openKillingProxy(world.nats, { says: '$JS.API.STREAM.INFO.EVENTS', times: 1 });
  const environment = { ...world.environment, NATS_URL: proxy.url, METRICS_PORT: String(port) };
  const stop = new AbortController();
  const starting = startCatalog(readConfig(CatalogConfig, environment), {
    log: openTestLog().log,
    signal: stop.signal,
  });
  onTestFinished(async () => {
    stop.abort(new Error('the test ends'));
    await (await starting.catch(() => undefined))?.[Symbol.asyncDispose]();
  });
  await proxy.hasKilled;
  const url = `http://127.0.0.1:${port}/metrics`;
  const unannounced = await eventually(
    () => one(url, 'sync_pushes_unannounced').catch(() => undefined),
    (count) => count !== undefined,
  );
  expect(unannounced).toBe(1);
  await world.nats.resume();
  await starting;
  died.resolve();
  await lost;
});
