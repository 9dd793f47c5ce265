// The event feed of two replicas of webhooks: how soon it shows a push; what waiting callers cost; and how much a reader
// without pause delays deliveries (feed-reader.ts).
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Stack } from '../stack/index.ts';
import { askFeed, openClient } from './client.ts';
import { beginMeasuring, spentWhere } from './cpu.ts';
import { benchFeedReader } from './feed-reader.ts';
import { makeItems, pushBody, suppliersPath } from './items.ts';
import { inMs } from './measure.ts';
import { processesOf } from './processes.ts';
import type { Setting } from './setting.ts';

const secondsDefault = 30;
const pushesPerSecond = 50;
const itemsPerPush = 5;
/** Pushes before those that count, in which V8 compiles what runs often. */
const warmPushes = 250;
const callers = 500;

export async function benchFeed({ startStack, options, say }: Setting): Promise<void> {
  const { seconds = secondsDefault } = options;
  const stack = await startStack({ replicas: { webhooks: 2 } });
  await measureLatency(stack, seconds, say);
  await measureWaiting(stack, seconds, say);
  await benchFeedReader(stack, seconds, say);
}

/** 50 pushes of 5 items a second, and one caller that waits for their events. */
async function measureLatency(stack: Stack, seconds: number, say: (line: string) => void): Promise<void> {
  using client = openClient(stack.gateway, stack.token({ integration: `latency-${randomUUID()}` }));
  const sentAt = new Map<string, number>();
  const shownAt = new Map<string, number>();
  let { next } = await askFeed(client, {});
  const over = new AbortController();
  const reading = (async () => {
    while (!over.signal.aborted) {
      const page = await askFeed(client, { after: next, wait: '2', limit: '500' });
      const now = performance.now();
      next = page.next;
      for (const { id, event } of page.events)
        if (event === 'sync.completed') shownAt.set(id.replace(/-completed$/, ''), now);
    }
  })();
  let refused = 0;
  const push = async (turn: number): Promise<void> => {
    const at = performance.now();
    const body = pushBody(makeItems(`S${turn}`, itemsPerPush));
    const { status, headers } = await client.tryPost(suppliersPath, body);
    if (status === 200) sentAt.set(String(headers['x-sync-id']), at);
    else refused += 1;
  };
  const pushes: Promise<void>[] = [];
  const begunAt = performance.now();
  for (let turn = 0; turn < warmPushes + seconds * pushesPerSecond; turn += 1) {
    await wait(Math.max(0, begunAt + (turn * 1_000) / pushesPerSecond - performance.now()));
    pushes.push(push(turn));
  }
  await Promise.all(pushes);
  await wait(3_000);
  over.abort();
  await reading;
  const warm = [...sentAt].slice(warmPushes);
  const lags = warm.map(([syncId, at]) => (shownAt.get(syncId) ?? Infinity) - at);
  say(`  ${warm.length} pushes of ${itemsPerPush}, ${refused} refused, shown after ${inMs(lags)}`);
}

/** The cost of one waiting caller for each of 500 integrations, compared with none, while no caller pushes. */
async function measureWaiting(stack: Stack, seconds: number, say: (line: string) => void): Promise<void> {
  const without = await idleShare(stack, seconds);
  const over = new AbortController();
  let failed = 0;
  const waiting = Array.from({ length: callers }, async (_, index) => {
    using client = openClient(stack.gateway, stack.token({ integration: `idle-${index}` }));
    await wait(Math.random() * 5_000);
    let { next } = await askFeed(client, {});
    while (!over.signal.aborted) {
      await askFeed(client, { after: next, wait: '25' }).then(
        (page) => void ({ next } = page),
        () => void (failed += 1),
      );
    }
  });
  await wait(6_000);
  const withWaiting = await idleShare(stack, seconds);
  over.abort();
  await Promise.all(waiting);
  say(
    `  of a core ${without} without, ${withWaiting} with ${callers} waiting callers, of which ${failed} calls failed`,
  );
}

/** The share of one processor that the services and their engines use in so many seconds. */
async function idleShare(stack: Stack, seconds: number): Promise<string> {
  const processes = processesOf(stack);
  const end = beginMeasuring(processes);
  await wait(seconds * 1_000);
  const spent = end();
  const ms = spentWhere(spent, (name) => Object.hasOwn(processes, name));
  return `${(ms / seconds / 10).toFixed(2)} %`;
}
