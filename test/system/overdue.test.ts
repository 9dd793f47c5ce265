// Expected pushes while processes and engines die: each due time that passes is announced once, and a push that comes in time is
// never called overdue. OVERDUE_MS and OVERDUE_EXPECTATIONS make it longer and larger.
import { setTimeout as wait } from 'node:timers/promises';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import type { Service, Stack } from '@integration-sync/dev/stack';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openClient, startTestStack, type Client } from '../support/stack.ts';

const lastsMs = Number(process.env['OVERDUE_MS'] ?? 12_000);
const count = Number(process.env['OVERDUE_EXPECTATIONS'] ?? 24);
const hourMs = 3_600_000;
/** The promise, from the due time or from the return of what was away. */
const lateMs = 60_000;

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

async function overdueOf({ client, dueMs }: Expected): Promise<{ dueAt: string; timestamp: string }[]> {
  const since = encodeURIComponent(new Date(dueMs - lateMs).toISOString());
  const { status, body } = await client.get(`/events?events=sync.overdue&limit=500&since=${since}`);
  expect(status).toBe(200);
  return (body['events'] as { timestamp: string; data: { dueAt: string } }[]).map(({ timestamp, data }) => ({
    timestamp,
    dueAt: data.dueAt,
  }));
}

it(
  'a push that is overdue is announced once within a minute, a push in time never, whichever process dies',
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

    const strikes: (() => Promise<void>)[] = [
      ...(['catalog', 'gateway', 'batches', 'webhooks'] as Service[]).map((one) => () => stack.kill(one)),
      () => stack.kill('catalog', 2),
      () => stack.engines.nats.kill(),
      () => stack.engines.mongodb.kill(),
    ];
    const endMs = Date.now() + lastsMs;
    for (let nth = 0; Date.now() < endMs; nth += 1) {
      // Each is struck before any is struck again, in an order that is another one each time.
      if (nth % strikes.length === 0) strikes.sort(() => Math.random() - 0.5);
      await wait(Math.random() * 2_000);
      await strikes[nth % strikes.length]?.();
      await stack.ready(60_000);
    }
    const backMs = Date.now();
    await pushing;

    const absent = all.filter((_, nth) => nth % 2 === 1);
    await eventually(
      async () => (await Promise.all(absent.map(overdueOf))).every((events) => events.length > 0),
      Boolean,
      Math.max(...all.map(({ dueMs }) => dueMs), backMs) + lateMs - Date.now(),
    );
    const found = new Map<Expected, Awaited<ReturnType<typeof overdueOf>>>();
    for (const one of all) found.set(one, await overdueOf(one));
    const dueTimesOf = (some: Expected[]) => some.map((one) => found.get(one)?.map(({ dueAt }) => dueAt));
    expect(dueTimesOf(absent)).toEqual(absent.map(({ dueMs }) => [new Date(dueMs).toISOString()]));
    const pushed = inTime.filter(({ isPushed }) => isPushed);
    expect(pushed).not.toEqual([]);
    expect(dueTimesOf(pushed)).toEqual(pushed.map(() => []));
    // A push that was refused until its due time may have been stored all the same: at most one event then.
    for (const [{ dueMs }, events] of found) {
      expect(events.length).toBeLessThanOrEqual(1);
      for (const { timestamp } of events)
        expect(Date.parse(timestamp)).toBeLessThanOrEqual(Math.max(dueMs, backMs) + lateMs);
    }
  },
);
