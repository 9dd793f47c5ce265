// A cluster of three nats-servers, of which one dies or is about to end: what services that are connected to it, or read what
// it leads, notice of that.
import { randomUUID } from 'node:crypto';
import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { openBus, type Bus, type BusHandler, type StreamSpec } from '@integration-sync/runtime/bus';
import type { NatsNode } from '@integration-sync/dev/nats-cluster';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { awake } from '../../support/awake.ts';
import { openFollower, openTestBus, text } from '../../support/bus.ts';
import { ending } from '../../support/ending.ts';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats } from '../../support/nats.ts';
import { startNatsCluster, type NatsCluster } from '../../support/nats-cluster.ts';

const startsWithinMs = 60_000;
let cluster: NatsCluster;

beforeAll(async () => {
  cluster = await startNatsCluster();
}, startsWithinMs);
afterAll(() => cluster?.[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const { engine } of cluster.nodes) await isWell(engine.monitorUrl);
}, startsWithinMs);

const isWell = (monitorUrl = '') =>
  eventually(
    () =>
      fetch(`${monitorUrl}/healthz`).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
    30_000,
  );

const nodeOf = (name: string): NatsNode => {
  const node = cluster.nodes.find((one) => one.name === name);
  if (node === undefined) throw new Error(`no node ${name}`);
  return node;
};

/** A client of a moment ago dials nobody for that long, so that it goes to another node later than that of a service does. */
const dialsAfterMs = 500;

/** It is told of the other nodes by the one that it is connected to. */
async function openOn(name: string, busName: string): Promise<Bus> {
  const bus = await openTestBus(nodeOf(name).engine.url, busName);
  await wait(dialsAfterMs);
  return bus;
}

const serve = (bus: Bus, handler: BusHandler) =>
  bus.serve({
    service: 'catalog',
    version: '1.0.0',
    description: 'Catalog',
    inFlightMax: 100,
    handlers: { 'svc.catalog.some.ask': handler },
  });

const ask = (bus: Bus, repeatable = false): Promise<string> =>
  bus.request('svc.catalog.some.ask', { timeoutMs: 8_000, repeatable }).then(
    ({ body }) => text(body),
    (error: unknown) => (error instanceof Failure ? error.code : String(error)),
  );

/** Dead until it is disposed. */
async function kill(name: string): Promise<AsyncDisposable> {
  const { engine } = nodeOf(name);
  engine.hold();
  await engine.kill();
  return { [Symbol.asyncDispose]: () => engine.resume() };
}

/** Looks in each turn of the event loop, as a client is connected again within 20 ms. */
async function untilLost(bus: Bus): Promise<void> {
  while (bus.connected) await immediate();
}

const answerSlowly: BusHandler = async () => {
  await wait(20);
  return { body: 'done' };
};

describe('a request', () => {
  it('waits while its own process reconnects to another server', async () => {
    await using asking = await openOn('n1', 'asking');
    await using answering = await openOn('n2', 'answering');
    await using _served = await serve(answering, async () => ({ body: 'done' }));
    expect(await ask(asking)).toBe('done');
    const lost = untilLost(asking);
    await using _dead = await kill('n1');
    await lost;
    expect(await ask(asking)).toBe('done');
  });

  it('waits while all replicas of the service reconnect to another server', async () => {
    await using asking = await openOn('n1', 'asking');
    await using answering = await openOn('n2', 'answering');
    await using _served = await serve(answering, async () => ({ body: 'done' }));
    expect(await ask(asking)).toBe('done');
    const lost = untilLost(answering);
    await using _dead = await kill('n2');
    await lost;
    expect(await ask(asking)).toBe('done');
  });

  it('is answered by a replica that reconnects to another server while it works on the request', async () => {
    await using asking = await openOn('n1', 'asking');
    await using answering = await openOn('n3', 'answering');
    const entered = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    await using _served = await serve(answering, async () => {
      entered.resolve();
      await released.promise;
      return { body: 'done' };
    });
    using _end = ending(released);
    const answer = ask(asking);
    await entered.promise;
    const lost = untilLost(answering);
    await using _dead = await kill('n3');
    await lost;
    released.resolve();
    expect(await answer).toBe('done');
  });

  it('is repeated after a lost connection if it is idempotent, and fails otherwise', async () => {
    await using asking = await openOn('n1', 'asking');
    await using answering = await openOn('n2', 'answering');
    const both = Promise.withResolvers<void>();
    let asked = 0;
    await using _served = await serve(answering, async () => {
      asked += 1;
      if (asked === 2) both.resolve();
      if (asked <= 2) await wait(3_000);
      return { body: 'done' };
    });
    const answers = [ask(asking, true), ask(asking, false)];
    await both.promise;
    await using _dead = await kill('n1');
    expect(await Promise.all(answers)).toEqual(['done', 'unavailable']);
    expect(asked).toBe(3);
  });

  it(
    'is answered while every server is stopped in lame duck mode, one after the other',
    { timeout: 120_000 },
    async () => {
      await using asking = await openTestBus(cluster.url, 'asking');
      await using first = await openTestBus(cluster.url, 'answering');
      await using second = await openTestBus(cluster.url, 'answering');
      await using _first = await serve(first, answerSlowly);
      await using _second = await serve(second, answerSlowly);
      const answers = new Map<string, number>();
      const stop = new AbortController();
      const askOn = async (): Promise<void> => {
        while (!stop.signal.aborted) {
          const answer = await ask(asking);
          answers.set(answer, (answers.get(answer) ?? 0) + 1);
          await wait(10);
        }
      };
      const askers = [askOn(), askOn()];
      try {
        for (const { engine } of cluster.nodes) {
          const [pid] = engine.pids();
          if (pid === undefined) throw new Error('a node is dead');
          process.kill(pid, 'SIGUSR2');
          await eventually(
            () => engine.pids()[0] ?? pid,
            (now) => now !== pid,
            30_000,
          );
          for (const one of cluster.nodes) await isWell(one.engine.monitorUrl);
        }
      } finally {
        stop.abort();
        await Promise.all(askers);
      }
      expect([...answers.keys()]).toEqual(['done']);
      expect(answers.get('done')).toBeGreaterThan(100);
    },
  );
});

it('a client whose server is stopped connects to another server immediately', async () => {
  const { log, text: lines } = openTestLog('asking');
  await using _bus = await openBus({ url: nodeOf('n1').engine.url, name: 'asking', log });
  using _standing = await freeze(nodeOf('n1').engine.pids());
  const [lostAt, backAt] = await eventually(
    () => ['nats connection lost', 'nats connection is back'].map((words) => saidAt(lines(), words)),
    ([, back]) => back !== undefined,
  );
  // The server that stands still takes a connection, and says nothing for the two seconds that a client waits.
  expect((backAt ?? 0) - (lostAt ?? 0)).toBeLessThan(1_500);
});

function saidAt(lines: string, words: string): number | undefined {
  const line = lines.split('\n').find((one) => one.includes(words));
  return line === undefined ? undefined : Date.parse((JSON.parse(line) as { time: string }).time);
}

it('a client stays with a server in lame duck mode while there is no other server', async () => {
  await using alone = await startNats();
  await using bus = await openTestBus(alone.url, 'alone');
  let missed = 0;
  using _listening = bus.listen(
    'some.news',
    () => undefined,
    () => void (missed += 1),
  );
  const [pid] = alone.pids();
  if (pid === undefined) throw new Error('the server is dead');
  process.kill(pid, 'SIGUSR2');
  // Longer than a replica takes to leave, and shorter than the server waits for that.
  await wait(7_000);
  expect([bus.connected, missed]).toEqual([true, 0]);
});

const specOf = (name: string): StreamSpec => ({
  name,
  description: 'test',
  subjects: [`${name}.>`],
  retention: 'limits',
  discard: 'new',
  atomicBatches: true,
  replicas: 3,
  settings: {},
});

// A stream that was compressed while it had one copy is damaged once it has three and a node is killed.
it('a new stream of a cluster is not compressed, even with one copy', async () => {
  const { log, text: lines } = openTestLog('making');
  await using bus = await openBus({ url: cluster.url, name: 'making', log });
  const spec: StreamSpec = { ...specOf(`PLAIN-${randomUUID()}`), replicas: 1, compression: 's2' };
  await bus.ensureStream(spec);
  // Otherwise the stream would have been created compressed, and changed.
  expect(lines()).not.toContain('stream differed and was changed');
  const [found] = await bus.inspectStreams([spec]);
  expect(found).toMatchObject({ standing: 'there', differing: [] });
  const nats = await connect({ servers: cluster.nodes.map(({ engine }) => engine.url) });
  onTestFinished(() => nats.close());
  const { config } = await (await jetstreamManager(nats)).streams.info(spec.name);
  expect(config.compression).toBe('none');
});

/** Each node knows of itself whether it leads. */
async function leaderOf(what: (facts: JetStreamFacts) => string | undefined): Promise<string | undefined> {
  const claims = await Promise.all(
    cluster.nodes.map(async ({ name, engine }) => {
      const body = await fetch(`${engine.monitorUrl}/jsz?accounts=1&streams=1&consumers=1`).then(
        (answer) => answer.text(),
        () => '{}',
      );
      const facts: JetStreamFacts = JSON.parse(body);
      return what(facts) === name ? name : undefined;
    }),
  );
  return claims.find((name) => name !== undefined);
}

interface Led {
  name: string;
  cluster?: { leader?: string };
}
interface JetStreamFacts {
  account_details?: { stream_detail?: (Led & { consumer_detail?: Led[] })[] }[];
}

const leaderOfStream = (stream: string) =>
  leaderOf((facts) => {
    const streams = facts.account_details?.flatMap(({ stream_detail: details = [] }) => details) ?? [];
    return streams.find(({ name }) => name === stream)?.cluster?.leader;
  });

it(
  'a reader goes on, without duplicates, soon after the leader of its stream has died',
  { timeout: 120_000 },
  async () => {
    await using making = await openTestBus(cluster.url, 'making');
    const stream = `MOVING-${randomUUID()}`;
    await making.ensureStream(specOf(stream));
    const leader = await eventually(() => leaderOfStream(stream), Boolean, 30_000);
    // Its own connection stays: by that it notices nothing.
    const other = cluster.nodes.find(({ name }) => name !== leader)?.name ?? '';
    await using bus = await openOn(other, 'reading');
    await using following = openFollower(bus, stream, { filters: [`${stream}.>`] });
    const publishOn = async (id: string): Promise<void> => {
      await eventually(
        () =>
          making.publishBatch([{ subject: `${stream}.x`, id, body: id }]).then(
            () => true,
            () => false,
          ),
        Boolean,
        30_000,
      );
    };
    await publishOn('before');
    await eventually(() => following.seen.includes('before'), Boolean);
    await using _dead = await kill(leader ?? '');
    await eventually(
      () => leaderOfStream(stream),
      (name) => name !== undefined,
      30_000,
    );
    await publishOn('after');
    const publishedAt = awake();
    await eventually(() => following.seen.includes('after'), Boolean, 20_000);
    expect(awake() - publishedAt).toBeLessThan(3_000);
    expect(following.seen).toEqual(['before', 'after']);
  },
);

/** A stream that was just made takes its first message when its servers have told each other. */
async function openCopied(bus: Bus): Promise<string> {
  const name = `COPIED-${randomUUID()}`;
  await bus.ensureStream(specOf(name));
  const read = () => Array.fromAsync(bus.readStream(name, { subject: `${name}.>`, from: { sequence: 1 } }));
  await eventually(
    () =>
      bus.publishBatch([{ subject: `${name}.first`, id: 'first', body: 'x' }]).then(
        async () => (await read()).length,
        () => 0,
      ),
    (count) => count === 1,
    30_000,
  );
  return name;
}

it(
  'a read with the option exact returns every message that the leader has stored',
  { timeout: 60_000 },
  async () => {
    await using bus = await openTestBus(cluster.url, 'reading');
    const stream = await openCopied(bus);
    const missed: number[] = [];
    for (let nth = 2; nth <= 150; nth += 1) {
      await bus.publishBatch([{ subject: `${stream}.a.${nth % 3}`, id: `id-${nth}`, body: 'x' }]);
      const subject = nth % 2 === 0 ? `${stream}.a.>` : `${stream}.a.${nth % 3}`;
      const from = nth % 5 === 0 ? { time: new Date(0) } : { sequence: Math.max(1, nth - 10) };
      const read = await Array.fromAsync(bus.readStream(stream, { subject, from, exact: true }));
      if (read.at(-1)?.sequence !== nth) missed.push(nth);
    }
    expect(missed).toEqual([]);
  },
);

it('a read with the option exact ends without a message where its subject has no message from the given start on', async () => {
  await using bus = await openTestBus(cluster.url, 'reading');
  const stream = await openCopied(bus);
  const read = (subject: string, from: { time: Date } | { sequence: number }) =>
    Array.fromAsync(bus.readStream(stream, { subject, from, exact: true }));
  expect(await read(`${stream}.>`, { time: new Date(Date.now() + 60_000) })).toEqual([]);
  expect(await read(`${stream}.>`, { sequence: 2 })).toEqual([]);
  expect(await read(`${stream}.y`, { sequence: 1 })).toEqual([]);
});
