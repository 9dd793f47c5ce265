// Expected pushes while processes and engines die: each due time that passes is announced once, and a push that comes in time is
// never called overdue. OVERDUE_MS and OVERDUE_EXPECTATIONS make it longer and larger, and then it prints its figures.
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import type { Service, Stack } from '@integration-sync/dev/stack';
import { expect, it } from 'vitest';
import { openTestBus } from '../support/bus.ts';
import { eventually } from '../support/eventually.ts';
import { openClient, startTestStack, type Client } from '../support/stack.ts';

const lastsMs = Number(process.env['OVERDUE_MS'] ?? 12_000);
const count = Number(process.env['OVERDUE_EXPECTATIONS'] ?? 24);
const hourMs = 3_600_000;
/** The promise: an event comes within this time, of which the time without an engine is no part. */
const lateMs = 60_000;
/** The longest pause between two strikes. */
const pauseMsMax = Math.max(2_000, lastsMs / 60);

interface Expected {
  client: Client;
  dueMs: number;
  /** Whether a push was answered 200 before it was due. */
  isPushed: boolean;
}

/** Expects a push within the hour, and lets all but the last `dueInMs` of the hour have passed. */
async function expectPush(stack: Stack, store: Store, dueInMs: number): Promise<Expected> {
  const client = openClient(stack);
  await client.send('PUT', '/expectations', { suppliers: { everyHours: 1 } });
  const dueMs = Date.now() + dueInMs;
  await store
    .collection<{ _id: string; setAt: Date; checkAt: Date }>('catalog_expectations')
    .updateOne(
      { _id: `${client.integration}/supplier` },
      { $set: { setAt: new Date(dueMs - hourMs), checkAt: new Date(dueMs) } },
    );
  return { client, dueMs, isPushed: false };
}

/** Pushes in the last second, again and again until a push is answered 200. */
async function pushInTime(expected: Expected): Promise<void> {
  const { client, dueMs } = expected;
  await wait(Math.max(0, dueMs - Date.now() - 900));
  while (Date.now() < dueMs && !expected.isPushed) {
    const answer = await client
      .post('/suppliers', { suppliers: [{ externalId: 's', name: 'N' }] })
      .catch(() => undefined);
    expected.isPushed = answer?.status === 200 && Date.now() < dueMs;
    if (!expected.isPushed) await wait(50);
  }
}

/** The due times of which the feed says that no push came. */
async function overdueOf({ client, dueMs }: Expected): Promise<string[]> {
  const since = encodeURIComponent(new Date(dueMs - lateMs).toISOString());
  const { status, body } = await client.get(`/events?events=sync.overdue&limit=500&since=${since}`);
  expect(status).toBe(200);
  return (body['events'] as { data: { dueAt: string } }[]).map(({ data }) => data.dueAt);
}

/** When the stream EVENTS stored each `sync.overdue`, by integration. */
async function readStored(bus: Bus): Promise<Map<string, number[]>> {
  const stored: { integration: string; atMs: number }[] = [];
  const all = bus.readStream('EVENTS', { subject: 'events.*.sync.overdue', from: { sequence: 1 } });
  for await (const { subject, storedAt } of all)
    stored.push({ integration: subject.split('.')[1] ?? '', atMs: storedAt.getTime() });
  const byIntegration = Map.groupBy(stored, ({ integration }) => integration);
  return new Map([...byIntegration].map(([name, events]) => [name, events.map(({ atMs }) => atMs)]));
}

interface Absence {
  fromMs: number;
  toMs: number;
}

/** Until when an event may come. `absences` are those of engines, in the order of time. */
function latestMs(dueMs: number, absences: readonly Absence[]): number {
  let latest = dueMs + lateMs;
  for (const { fromMs, toMs } of absences)
    if (fromMs < latest && toMs > dueMs) latest += toMs - Math.max(fromMs, dueMs);
  return latest;
}

it(
  'an overdue push is announced once within a minute, and never a push in time, whichever process dies',
  { timeout: lastsMs + 240_000 },
  async () => {
    await using stack = await startTestStack({ ownMongodb: true, replicas: { catalog: 2 } });
    const { mongodb: url, database } = stack;
    await using store = await openStore({
      url,
      database,
      log: openLog({ service: 'test', level: 'silent' }),
    });
    const all: Expected[] = [];
    for (let nth = 0; nth < count; nth += 1)
      all.push(await expectPush(stack, store, 3_000 + (nth / count) * lastsMs));
    const inTime = all.filter((_, nth) => nth % 2 === 0);
    const pushing = Promise.all(inTime.map(pushInTime));
    pushing.catch(() => undefined);

    const absences: Absence[] = [];
    const killEngine = (engine: 'nats' | 'mongodb') => async () => {
      const fromMs = Date.now();
      await stack.engines[engine].kill();
      await stack.ready(60_000);
      absences.push({ fromMs, toMs: Date.now() });
    };
    const strikes: (() => Promise<void>)[] = [
      ...(['catalog', 'gateway', 'batches', 'webhooks'] as Service[]).map((one) => () => stack.kill(one)),
      () => stack.kill('catalog', 2),
      killEngine('nats'),
      killEngine('mongodb'),
    ];
    const endMs = Date.now() + lastsMs;
    let struck = 0;
    for (; Date.now() < endMs; struck += 1) {
      // Each is struck before any is struck again, in an order that is another one each time.
      if (struck % strikes.length === 0) strikes.sort(() => Math.random() - 0.5);
      await wait(Math.random() * pauseMsMax);
      await strikes[struck % strikes.length]?.();
      await stack.ready(60_000);
    }
    await pushing;

    const absent = all.filter((_, nth) => nth % 2 === 1);
    await using bus = await openTestBus(stack.nats);
    await eventually(
      () => readStored(bus),
      (events) => absent.every(({ client }) => events.has(client.integration)),
      Math.max(...absent.map(({ dueMs }) => latestMs(dueMs, absences))) - Date.now() + 1_000,
    );
    const [stored, found] = [await readStored(bus), new Map<Expected, string[]>()];
    for (const one of all) found.set(one, await overdueOf(one));
    const dueTimesOf = (some: Expected[]) => some.map((one) => found.get(one));
    expect(dueTimesOf(absent)).toEqual(absent.map(({ dueMs }) => [new Date(dueMs).toISOString()]));
    const pushed = inTime.filter(({ isPushed }) => isPushed);
    expect(pushed).not.toEqual([]);
    expect(dueTimesOf(pushed)).toEqual(pushed.map(() => []));
    const lates: number[] = [];
    for (const { client, dueMs } of all) {
      const times = stored.get(client.integration) ?? [];
      // A push that was refused until its due time may have been stored all the same: at most one event then.
      expect(times.length).toBeLessThanOrEqual(1);
      for (const atMs of times) {
        lates.push(atMs - dueMs);
        expect(atMs).toBeLessThanOrEqual(latestMs(dueMs, absences));
      }
    }
    if (lastsMs > 60_000)
      process.stderr.write(
        `${struck} strikes, ${pushed.length} of ${inTime.length} pushed in time, ${lates.length} overdue by ${lates
          .toSorted((one, other) => one - other)
          .map((ms) => (ms / 1_000).toFixed(0))
          .join()} s\n`,
      );
  },
);
