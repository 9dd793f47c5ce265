// npm run bench:feed [-- latency idle reader needle kill roll]: the event feed on a whole stack of its own: how soon a
// push is shown; what waiting callers and constant readers cost; how fast few events are found among many of others;
// and whether the feed loses an event or fails a waiting caller while processes are killed or restarted.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  eventBatchesStream,
  packEventBatches,
  publishWithBatch,
  readEventBatch,
  storedBatches,
} from '@integration-sync/contracts';
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { startStack } from '../stack/index.ts';
import { beginMeasuring, spentBy } from './cpu.ts';
import { askFeed, base, bodyOf, headersOf, inMs, push, type House } from './feed/caller.ts';
import { benchReader } from './feed/reader.ts';
import { processesOf } from './processes.ts';
import { runAsCommand, say } from './run.ts';
import { temporaryFolder } from './temporary.ts';

/** 50 pushes of 5 a second, and one caller that waits for them. */
async function benchLatency(house: House): Promise<void> {
  const seconds = 30;
  const integration = `latency-${randomUUID().slice(0, 8)}`;
  const sent = new Map<string, { sentAt: number; answeredAt: number }>();
  const shownAt = new Map<string, number>();
  let { next } = await askFeed(house, integration, {});
  const over = new AbortController();
  const reading = (async () => {
    while (!over.signal.aborted) {
      const page = await askFeed(house, integration, { after: next, wait: '2', limit: '500' });
      const now = performance.now();
      next = page.next;
      for (const { id, event } of page.events)
        if (event === 'sync.completed') shownAt.set(id.replace(/-completed$/, ''), now);
    }
  })();
  const pushes: Promise<void>[] = [];
  const begunAt = performance.now();
  for (let turn = 0; turn < seconds * 50; turn += 1) {
    await wait(Math.max(0, begunAt + turn * 20 - performance.now()));
    const sentAt = performance.now();
    pushes.push(
      push(house, integration, turn * 5, 5).then((syncId) => {
        sent.set(syncId, { sentAt, answeredAt: performance.now() });
      }),
    );
  }
  await Promise.all(pushes);
  await wait(3_000);
  over.abort();
  await reading;
  const warm = [...sent].slice(250);
  const lags = (of: 'sentAt' | 'answeredAt'): number[] =>
    warm.map(([syncId, times]) => (shownAt.get(syncId) ?? Infinity) - times[of]);
  say(`  ${sent.size} pushes of 5, ${shownAt.size} shown`);
  say(`  from the push's being sent: ${inMs(lags('sentAt'))}`);
  say(`  from its answer: ${inMs(lags('answeredAt'))}`);
}

async function listingTimes(house: House, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const endAt = performance.now() + seconds * 1_000;
  while (performance.now() < endAt) {
    const begunAt = performance.now();
    const answer = await fetch(`${house.stack.gateway}${base}/suppliers`, {
      headers: headersOf(house, 'listed'),
    });
    await answer.arrayBuffer();
    times.push(performance.now() - begunAt);
    await wait(20);
  }
  return times;
}

/** The share of one processor that the services and their engines use. */
function processorOf({ stack }: House): () => number {
  const processes = processesOf(stack);
  const end = beginMeasuring(processes);
  const begunAt = performance.now();
  return () => {
    const spent = end();
    const ms = Object.keys(processes).reduce((sum, name) => sum + spentBy(spent, name), 0);
    return ms / (performance.now() - begunAt);
  };
}

/** One waiting caller for each of 500 integrations, while no caller pushes; in turns with no waiting caller. */
async function benchIdle(house: House): Promise<void> {
  await push(house, 'listed', 0, 100);
  const callers = 500;
  const seconds = 30;
  for (const round of [1, 2]) {
    await wait(3_000);
    const idle = processorOf(house);
    await wait(seconds * 1_000);
    const without = idle();
    const listedWithout = await listingTimes(house, 10);

    const over = new AbortController();
    let failed = 0;
    const waiting = Array.from({ length: callers }, async (_, index) => {
      const integration = `idle-${index}`;
      await wait(Math.random() * 5_000);
      let { next } = await askFeed(house, integration, {});
      while (!over.signal.aborted) {
        await askFeed(house, integration, { after: next, wait: '25' }).then(
          (page) => {
            ({ next } = page);
          },
          () => {
            failed += 1;
          },
        );
      }
    });
    await wait(30_000);
    const busy = processorOf(house);
    await wait(seconds * 1_000);
    const withWaiters = busy();
    const listedWith = await listingTimes(house, 10);
    over.abort();
    await Promise.all(waiting);
    say(
      `  round ${round}: of a core ${(without * 100).toFixed(2)} % without, ${(withWaiters * 100).toFixed(2)} % with ${callers} waiting callers, ${failed} failed`,
    );
    say(`    listings without: ${inMs(listedWithout)}; with: ${inMs(listedWith)}`);
  }
}

/** 10 events of one integration among a million events of 50 others, read from the oldest event on. */
async function benchNeedle(house: House): Promise<void> {
  const { bus } = house;
  const announce = async (integration: string, count: number): Promise<void> => {
    const events = Array.from({ length: count }, (_, index) => ({
      id: randomUUID(),
      body: bodyOf(integration, index),
    }));
    const acks = events.map((_, sequence) => ({ sequence, duplicate: false }));
    await bus.publishBatch(packEventBatches({ announcer: 'catalog', integration, events, acks }));
  };
  const needle = `needle-${randomUUID().slice(0, 8)}`;
  for (let turn = 0; turn < 10; turn += 1) {
    await announce(needle, 1);
    for (let other = 0; other < 200; other += 1) await announce(`hay-${other % 50}`, 500);
  }
  for (let round = 0; round < 3; round += 1) {
    const begunAt = performance.now();
    let page = await askFeed(house, needle, { since: '2020-01-01' });
    let found = page.events.length;
    let pages = 1;
    for (; page.more; pages += 1) {
      page = await askFeed(house, needle, { after: page.next });
      found += page.events.length;
    }
    say(`  ${found} of 10 events in ${(performance.now() - begunAt).toFixed(0)} ms, ${pages} pages`);
  }
}

/** Publishes events while webhooks, the gateway and NATS are killed, and compares the feed with the stream. */
async function benchKill(house: House): Promise<void> {
  const { stack, bus } = house;
  const total = 200_000;
  const integration = `killed-${randomUUID().slice(0, 8)}`;
  let { next } = await askFeed(house, integration, {});
  const shown: string[] = [];
  let failures = 0;
  const published = new AbortController();
  const reading = (async () => {
    let idle = 0;
    while (idle < 5) {
      try {
        const page = await askFeed(house, integration, { after: next, wait: '5', limit: '500' });
        next = page.next;
        shown.push(...page.events.map(({ id }) => id));
        idle = published.signal.aborted && page.events.length === 0 && !page.more ? idle + 1 : 0;
      } catch {
        failures += 1;
        await wait(100);
      }
    }
  })();
  let kills = 0;
  const killing = (async () => {
    while (!published.signal.aborted) {
      await wait(2_500);
      const victims = [
        () => stack.kill('webhooks', 1 + (kills % 2)),
        () => stack.kill('gateway'),
        () => stack.engines.nats.kill(),
      ];
      await victims[kills % victims.length]?.();
      kills += 1;
    }
  })();
  for (let at = 0; at < total; at += 500) {
    const events = Array.from({ length: 500 }, (_, index) => ({
      subject: `events.${integration}.supplier.created`,
      id: `${integration}-${at + index}`,
      body: bodyOf(integration, at + index),
    }));
    for (;;) {
      try {
        await publishWithBatch(bus, { announcer: 'catalog', integration, events });
        break;
      } catch {
        await wait(200);
      }
    }
    await wait(50);
  }
  published.abort();
  await Promise.all([reading, killing]);
  const stored: string[] = [];
  const whole = { subject: storedBatches(integration), from: { sequence: 1 }, exact: true };
  for await (const { body } of bus.readStream(eventBatchesStream, whole))
    stored.push(...(readEventBatch(body)?.events() ?? []).map(({ id }) => id));
  const isSame = stored.length === shown.length && stored.every((id, index) => id === shown[index]);
  say(
    `  ${total} events, ${kills} kills, ${failures} calls failed: the stream has ${stored.length} (${new Set(stored).size} distinct), the feed ${shown.length} (${new Set(shown).size}), ${isSame ? 'the same, in the same order' : 'NOT THE SAME'}`,
  );
  if (!isSame || new Set(shown).size !== total) process.exitCode = 1;
}

/** Callers wait for events while each service is stopped in good order and started again. */
async function benchRoll(house: House): Promise<void> {
  const callers = 500;
  const places = await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const integration = `roll-${index % 50}`;
      return { integration, after: (await askFeed(house, integration, {})).next };
    }),
  );
  for (const service of ['catalog', 'batches', 'webhooks', 'gateway'] as const) {
    const outcomes = places.map(({ integration, after }) =>
      askFeed(house, integration, { after, wait: '25' }).then(
        () => 'answered',
        (error: unknown) => String(error),
      ),
    );
    await wait(3_000);
    const begunAt = performance.now();
    await house.stack.restart(service);
    await house.stack.ready();
    const all = await Promise.all(outcomes);
    const failed = all.filter((outcome) => outcome !== 'answered');
    say(
      `  ${service}: ${all.length} waiting, ${failed.length} failed, answered after ${((performance.now() - begunAt) / 1_000).toFixed(1)} s at most`,
    );
    for (const words of new Set(failed)) say(`    ${words}`);
    if (failed.length > 0) process.exitCode = 1;
  }
}

const benches = {
  latency: benchLatency,
  idle: benchIdle,
  reader: benchReader,
  needle: benchNeedle,
  kill: benchKill,
  roll: benchRoll,
} as const;
type Name = keyof typeof benches;
const isName = (text: string): text is Name => Object.hasOwn(benches, text);
const feedUsage = `Usage: npm run bench:feed [-- ${Object.keys(benches).join(' ')}]`;

await runAsCommand(feedUsage, async (start) => {
  const given = process.argv.slice(2);
  const unknown = given.filter((name) => !isName(name));
  if (unknown.length > 0) throw new Error(`there is no benchmark ${unknown.join(', ')}. ${feedUsage}`);
  const names = given.length === 0 ? Object.keys(benches).filter(isName) : given.filter(isName);
  for (const name of names) {
    say(name);
    // Each benchmark has engines of its own, so that it does not find the data of another.
    const opened = await start(async (signal) => {
      await using opening = new AsyncDisposableStack();
      const { folder } = opening.use(await temporaryFolder());
      const stack = opening.use(
        await startStack({
          folder,
          temporary: true,
          signal,
          replicas: { webhooks: 2 },
          environment: { ...process.env, GATEWAY_PORT: '0', LOG_LEVEL: 'warn' },
        }),
      );
      const log = openLog({ service: 'bench', level: 'silent' });
      const bus = opening.use(await openBus({ url: stack.nats, name: 'bench', log }));
      const running = opening.move();
      return { stack, bus, [Symbol.asyncDispose]: () => running.disposeAsync() };
    });
    await opened.stack.ready();
    await benches[name](opened);
    await opened[Symbol.asyncDispose]();
  }
});
