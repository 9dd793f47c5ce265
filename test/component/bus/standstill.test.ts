// Replicas of one service as processes of their own, of which one stands still.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import type { Bus } from '@integration-sync/runtime/bus';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openTestBus, text } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { startNats } from '../../support/nats.ts';
import { startServiceProcess } from '../../support/service-process.ts';

let nats: Engine;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await openTestBus(nats.url);
});
afterAll(async () => {
  await bus[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
});

const startAnswering = () => startServiceProcess(inject('programs').answering, { NATS_URL: nats.url });

const ask = (): Promise<number> =>
  bus.request('svc.catalog.pid.ask', { timeoutMs: 3_000 }).then(({ body }) => Number(text(body)));

/** Of 60 questions each of two replicas gets some, but for one case in 10^17. */
const whoAnswers = async (): Promise<number[]> => {
  const pids = await Promise.all(Array.from({ length: 60 }, ask));
  return [...new Set(pids)].toSorted((one, other) => one - other);
};

interface Connection {
  cid: number;
  name: string;
  /** Absent until its first ping was answered; until then nats-server counts one more. */
  rtt?: string;
  stop?: string;
}

/** Of the replicas. */
const connections = async (which: 'open' | 'closed' = 'open'): Promise<Connection[]> => {
  const answer = await fetch(`${nats.monitorUrl}/connz?state=${which}`);
  const all: { connections: Connection[] } = JSON.parse(await answer.text());
  return all.connections.filter(({ name }) => name === 'answering');
};
const open = async (): Promise<number[]> => (await connections()).map(({ cid }) => cid);

const droppedWithinMs = 4_500;

it('a replica under SIGSTOP gets no requests after 4 s, and gets requests again after SIGCONT', async () => {
  await using steady = await startAnswering();
  await using frozen = await startAnswering();
  const both = [steady.pid, frozen.pid].toSorted((one, other) => one - other);
  expect(await whoAnswers()).toEqual(both);
  const cids = new Set(await open());
  {
    const frozenAtMs = Date.now();
    using _standing = await freeze([frozen.pid]);
    // Until then nats-server hands it its share of the questions, and it answers none.
    const early = whoAnswers().then(String, (error: unknown) =>
      error instanceof Failure ? error.code : error,
    );
    const dropped = await eventually(
      async () => (await connections('closed')).filter(({ cid }) => cids.has(cid)),
      (closed) => closed.length > 0,
    );
    expect(Date.parse(dropped[0]?.stop ?? '') - frozenAtMs).toBeLessThan(droppedWithinMs);
    for (let round = 0; round < 5; round += 1) expect(await whoAnswers()).toEqual([steady.pid]);
    expect(await early).toBe('timeout');
  }
  expect(await eventually(whoAnswers, (pids) => pids.length === 2)).toEqual(both);
});

it('a replica that is stopped for 2 s keeps its connection', async () => {
  await using replica = await startAnswering();
  await eventually(connections, ([first]) => first?.rtt !== undefined);
  const before = await open();
  {
    const endsAt = performance.now() + 2_000;
    using _standing = await freeze([replica.pid]);
    // The time itself is what this test tries.
    await wait(endsAt - performance.now());
  }
  expect(await whoAnswers()).toEqual([replica.pid]);
  expect(await open()).toEqual(before);
});
