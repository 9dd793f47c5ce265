// The sending of missed events once a recovery has enabled an endpoint.
import { readEventBatch } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openRecoveries } from '../../../services/webhooks/src/api/recoveries.ts';
import { text } from '../../support/bus.ts';
import { batchOf, openEndpoint } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });

interface Sending {
  /** How long the missed events take to read. */
  readMs?: number;
  /** How often this replica can hold the step before another replica has it. */
  heldTimes?: number;
  active?: boolean;
}

const idsIn = (body: Uint8Array): string[] => (readEventBatch(body)?.events(text) ?? []).map(({ id }) => id);

async function send({ readMs = 0, heldTimes = Infinity, active = true }: Sending) {
  const now = new Date();
  const held = {
    ...openEndpoint('wh_1'),
    active,
    eventsAfter: 10,
    recovery: { step: 'send' as const, dueAt: now, replays: true, since: new Date(0) },
  };
  let isDue = true;
  let holds = 0;
  const ended: string[] = [];
  const sent: string[] = [];
  const steps: string[] = [];
  await using _recoveries = openRecoveries({
    endpoints: {
      dueRecoveries: async () => (isDue ? [held] : []),
      async holdRecovery() {
        isDue = false;
        holds += 1;
        return holds > heldTimes ? undefined : held;
      },
      setRecovery: async (_held, next) => {
        const { through, queued = 'none' } = next ?? {};
        ended.push(next === undefined ? 'ended' : `through ${through}, ${queued} sent`);
      },
      enable: async () => null,
    },
    bus: {
      async publishBatch(messages) {
        sent.push(...messages.flatMap(({ body }) => idsIn(Buffer.from(body))));
        return messages.map((_, index) => ({ sequence: index + 1, duplicate: false }));
      },
      async streamFacts() {
        steps.push('end read');
        return { firstSequence: 1, lastSequence: 11, lastAt: now, madeAt: now };
      },
    },
    streamReset: { willStore: async () => undefined },
    async *candidatesIn() {
      await wait(readMs);
      for (const sequence of [10, 11, 12]) yield batchOf(sequence).events()[0];
    },
    test: () => Promise.reject(new Error('not tested')),
    changed: async () => void steps.push('told'),
    log,
  });
  await wait(readMs + 8_000);
  return { sent: sent.join(' '), ended, holds, steps };
}

it('a recovery sends the events from before the owner knew of the enabling, and the owner sends later events', async () => {
  const { sent, ended, steps } = await send({});
  expect([10, 11, 12].map((sequence) => sent.includes(`${sequence}-0`))).toEqual([true, true, false]);
  expect([steps.slice(0, 2), ended]).toEqual([
    ['told', 'end read'],
    ['through 11, none sent', 'through 11, 2 sent', 'ended'],
  ]);
});

it('a replica keeps the recovery of an endpoint for as long as it sends missed events', async () => {
  const { holds, ended } = await send({ readMs: 60_000 });
  expect(holds).toBeGreaterThan(10);
  expect(ended.at(-1)).toBe('ended');
});

it('a recovery stops where another replica has taken over its step', async () => {
  const { sent, ended } = await send({ readMs: 20_000, heldTimes: 2 });
  expect([sent, ended]).toEqual(['', ['through 11, none sent']]);
});

it('a recovery ends, and sends nothing, where the endpoint is disabled again', async () => {
  expect(await send({ active: false })).toMatchObject({ sent: '', ended: ['ended'], steps: [] });
});

it('the tests of one integration, whose receivers all hang, delay no test of another integration', async () => {
  const now = new Date();
  const dueOf = (integration: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...openEndpoint(`wh_${integration}_${index}`),
      integration,
      active: false,
      disabledAt: now,
      recovery: { step: 'test' as const, dueAt: now, replays: true },
    }));
  const due = new Map([...dueOf('acme', 200), ...dueOf('rival', 2)].map((one) => [one._id, one]));
  const tested: string[] = [];
  await using _recoveries = openRecoveries({
    endpoints: {
      dueRecoveries: async (limit, without) =>
        [...due.values()].filter(({ integration }) => !without.includes(integration)).slice(0, limit),
      async holdRecovery({ _id }) {
        const held = due.get(_id);
        due.delete(_id);
        return held;
      },
      setRecovery: async () => undefined,
      enable: async () => null,
    },
    bus: {} as never,
    streamReset: { willStore: async () => undefined },
    async *candidatesIn() {},
    async test({ integration }) {
      tested.push(integration);
      await wait(10_000);
      return { verdict: 'failed', responseStatus: null, error: 'timeout', at: now, durationMs: 10_000 };
    },
    changed: async () => undefined,
    log,
  });
  await wait(1_500);
  expect(tested.filter((one) => one === 'rival')).toHaveLength(2);
  expect(tested.filter((one) => one === 'acme').length).toBeGreaterThan(15);
  await wait(130_000);
  expect(tested).toHaveLength(202);
});
