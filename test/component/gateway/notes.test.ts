// What /readyz says of streams beside being ready: real services, of which some start without a setting.
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { setTimeout as wait } from 'node:timers/promises';
import { openStore } from '@integration-sync/runtime/store';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/gateway.ts';
import { openHouse } from '../../support/webhooks.ts';

const log = openLog({ service: 'test', level: 'silent' });

async function streamGauges(metricsUrl: string): Promise<string[]> {
  const text = await (await fetch(metricsUrl)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith('sync_stream_') && !line.startsWith('sync_stream_made_'))
    .map((line) => line.replace(/,?service="\w+"/, ''))
    .toSorted();
}

const gaugesOf = (differs: number) =>
  ['differs', 'has_leader', 'replicas', 'replicas_current'].flatMap((name) =>
    ['EVENTS', 'EVENT_BATCHES'].map(
      (stream) => `sync_stream_${name}{stream="${stream}"} ${name === 'differs' ? differs : 1}`,
    ),
  );

// Setup: one of three replicas of catalog was started without the setting that all others have.
// What this proves: /readyz names it, whichever replica answers for readiness; /readyz stays 200, and each
// replica's own gauge tells which one it is.
it('/readyz notes a replica that lacks a setting of other replicas, and is 200', async () => {
  await using house = await openHouse();
  await using gateway = await openGateway(house.nats.url, {}, { readinessRememberedMs: 0 });
  const kept = { EVENTS_KEEP_DAYS: '30' };
  const startOne = (settings: Record<string, string>) =>
    startCatalog(readConfig(CatalogConfig, { ...house.environment, ...settings }), { log });
  await house.start({}, kept);
  await using _batches = await startBatches(readConfig(BatchesConfig, { ...house.environment, ...kept }), {
    log,
  });
  await using set = await startOne(kept);
  await using _alsoSet = await startOne(kept);
  const services = { catalog: 'ok', batches: 'ok', webhooks: 'ok' };
  const ask = async () => {
    const answer = await fetch(`${gateway.url}/readyz`);
    return { status: answer.status, body: await answer.json() };
  };
  expect(await ask()).toEqual({ status: 200, body: { status: 'ready', services } });
  await using forgetful = await startOne({});
  const detail =
    'A replica has no EVENTS_KEEP_DAYS (7 days), where NATS has 30 days of EVENTS, EVENT_BATCHES; it changed nothing.';
  for (let times = 0; times < 5; times += 1) {
    expect(await ask()).toEqual({
      status: 200,
      body: { status: 'ready', services, notes: [{ pointer: 'catalog', detail }] },
    });
  }
  expect(await streamGauges(set.metricsUrl)).toEqual(gaugesOf(0).toSorted());
  expect(await streamGauges(forgetful.metricsUrl)).toEqual(gaugesOf(1).toSorted());
});

it('/readyz notes that the message limit of NATS is smaller than the largest body', async () => {
  await using house = await openHouse();
  await house.start();
  await using _catalog = await startCatalog(readConfig(CatalogConfig, house.environment), { log });
  await using _batches = await startBatches(readConfig(BatchesConfig, house.environment), { log });
  const answerWith = async (bytes: number): Promise<unknown> => {
    await using gateway = await openGateway(house.nats.url, { BODY_BYTES_MAX: String(bytes) });
    return (await fetch(`${gateway.url}/readyz`)).json();
  };
  const bytesMax = 8 * 1024 * 1024 - 64 * 1024;
  expect(await answerWith(bytesMax)).not.toHaveProperty('notes');
  const detail = `Bodies of more than ${bytesMax} bytes are refused, although BODY_BYTES_MAX is ${bytesMax + 1}: raise max_payload of nats-server, then restart the services.`;
  expect(await answerWith(bytesMax + 1)).toHaveProperty('notes', [{ pointer: 'gateway', detail }]);
});

it('/readyz notes a replica that uses another database than the others', async () => {
  await using house = await openHouse();
  await using gateway = await openGateway(house.nats.url, {}, { readinessRememberedMs: 0 });
  const { environment } = house;
  const { MONGODB_URL: mongodbUrl = '', MONGODB_DATABASE: name = '' } = environment;
  const startOne = (database: string) =>
    startCatalog(readConfig(CatalogConfig, { ...environment, MONGODB_DATABASE: database }), { log });
  await house.start();
  await using _batches = await startBatches(readConfig(BatchesConfig, environment), { log });
  await using _one = await startOne(name);
  await using _two = await startOne(name);
  const ask = async (): Promise<{ notes?: object[] }> => {
    const answer: { notes?: object[] } = JSON.parse(await (await fetch(`${gateway.url}/readyz`)).text());
    return answer;
  };
  // Each replica tells the identity of its database within two seconds of its start.
  await wait(2_000);
  expect(await ask()).not.toHaveProperty('notes');
  const other = `${name}_other`;
  await using otherStore = await openStore({ url: mongodbUrl, database: other, log });
  await using _three = await startOne(other);
  const { notes = [] } = await eventually(ask, (answer) => answer.notes !== undefined);
  expect(notes).toEqual([
    { pointer: 'catalog', detail: expect.stringMatching(/^Replicas use different databases/) },
  ]);
  await otherStore.database.dropDatabase();
});
