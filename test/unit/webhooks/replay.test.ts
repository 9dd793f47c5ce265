import { expect, it, vi } from 'vitest';
import type { BusRequest, StoredMessage } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { packAddressedBatches, subjects } from '@integration-sync/contracts';
import { unknownPushes } from '../../../services/webhooks/src/matching/cutoff.ts';
import { openCandidates } from '../../../services/webhooks/src/api/replay-candidates.ts';
import { replayHandlers } from '../../../services/webhooks/src/api/replay.ts';
import { openEndpoint } from '../../support/webhook-parts.ts';
import { pause } from '../../support/pause.ts';

const event = (kind: string, sequence: number): StoredMessage => ({
  subject: `events.acme.${kind}`,
  id: `event-${sequence}`,
  body: Buffer.from(
    JSON.stringify({ event: kind, timestamp: '2026-01-01T00:00:00.000Z', integrationId: 'acme', data: {} }),
  ),
  sequence,
  storedAt: new Date(),
});

interface Given {
  leftMs: number;
  events?: number;
  /** The pushes that are still to be announced, at one look after the other. */
  /** The pushes in progress when the webhook was enabled. */
  enabledBeside?: string[];
  underWay?: string[][];
  /** How often the webhook was disabled, at one look after the other. */
  epochs?: number[];
}

async function* noMessages(): AsyncGenerator<StoredMessage> {
  yield* [];
}

it('a replay begins at the start of missed events that an owner stores late, and not at the higher floor', async () => {
  const missed = { sequence: 100, index: 0, open: [], stream: 'one', term: 1 };
  const endedAt = new Date();
  const disabled = { ...openEndpoint('wh_1'), disablings: [{ epoch: 1, at: endedAt }] };
  let told: typeof missed | null = null;
  const begins: unknown[] = [];
  const candidatesIn = openCandidates({
    endpoints: {
      find: async () => ({ ...disabled, missed: { 1: told } }),
      recordMissed: async () => undefined,
    },
    claims: {
      async floorOf() {
        told = missed;
        return 500;
      },
    },
    offsets: { of: async () => new Map() },
    stream: { facts: { id: 'one', createdAt: 'one', firstSequence: 1, lastSequence: 0 } },
    log: openLog({ service: 'test', level: 'silent' }),
    bus: {
      streamFacts: async () => ({ madeAt: endedAt, firstSequence: 1, lastSequence: 0, lastAt: endedAt }),
      readStream(_stream, { from }) {
        begins.push(from);
        return noMessages();
      },
    },
  });
  const reading = Array.fromAsync(candidatesIn(disabled as never, { since: endedAt, until: undefined }));
  await vi.advanceTimersByTimeAsync(10_000);
  await reading;
  expect(begins[0]).toEqual({ sequence: 100 });
});

it('events of a replay that a disabling ends are missed, although the clock of nats-server is half a second ahead', async () => {
  const endedAt = new Date();
  const missed = { sequence: 7, index: 0, open: [], stream: 'one', term: 1 };
  const disabled = { ...openEndpoint('wh_1'), disablings: [{ epoch: 1, at: endedAt }] };
  const address = { endpointId: 'wh_1', integration: 'acme', sending: 'first' };
  const replayed = (ms: number, sequence: number): StoredMessage => {
    const { id, body } = event('supplier.created', sequence);
    const [batch] = packAddressedBatches(address, [{ id, body: Buffer.from(body).toString() }]);
    const storedAt = new Date(endedAt.getTime() + ms);
    const subject = 'event-batches.1.replay.acme';
    return { subject, id: '', body: Buffer.from(batch?.body ?? ''), sequence, storedAt };
  };
  const candidatesIn = openCandidates({
    endpoints: {
      find: async () => ({ ...disabled, missed: { 1: missed } }),
      recordMissed: async () => undefined,
    },
    claims: { floorOf: async () => 0 },
    offsets: { of: async () => new Map() },
    stream: { facts: { id: 'one', createdAt: 'one', firstSequence: 1, lastSequence: 9 } },
    log: openLog({ service: 'test', level: 'silent' }),
    bus: {
      streamFacts: async () => ({ madeAt: endedAt, firstSequence: 1, lastSequence: 0, lastAt: endedAt }),
      async *readStream(stream) {
        if (stream === 'EVENT_BATCHES') yield* [replayed(500, 8), replayed(60_000, 9)];
      },
    },
  });
  const all = await Array.fromAsync(candidatesIn(disabled, { since: endedAt, until: undefined }));
  expect(all.map((one) => one?.eventId)).toEqual(['event-8', undefined]);
});

/** A stream, endless unless a test gives an end, in which one event in a hundred is of a wanted kind. */
function setUp({
  leftMs,
  events = Infinity,
  enabledBeside = ['sync_a', 'sync_b'],
  underWay = [],
  epochs = [],
}: Given) {
  const published: string[] = [];
  const bus = {
    async publishBatch(messages: readonly { subject: string }[]) {
      published.push(...messages.map(({ subject }) => subject));
      return [];
    },
    streamFacts: async () => ({
      madeAt: new Date(),
      firstSequence: 1,
      lastSequence: Infinity,
      lastAt: new Date(),
    }),
    async *readStream() {
      for (let sequence = 1; sequence <= events; sequence += 1) {
        if (sequence % 100 === 0) await pause(5);
        yield event(sequence % 100 === 0 ? 'supplier.created' : 'product.created', sequence);
      }
    },
  };
  const endpoint = { ...openEndpoint('wh_1'), eventsUnderWay: enabledBeside };
  const endpoints = { findOf: async () => ({ ...endpoint, epoch: epochs.shift() ?? 0 }) } as never;
  const takeCutoff = async () => ({ through: 0, underWay: underWay.shift() ?? [] });
  const candidatesIn = openCandidates({
    endpoints,
    claims: { floorOf: async () => 0 },
    offsets: { of: async () => new Map() },
    stream: { facts: { id: 'one', createdAt: 'one', firstSequence: 1, lastSequence: 0 } },
    log: openLog({ service: 'test', level: 'silent' }),
    bus,
  });
  const handlers = replayHandlers({
    endpoints,
    bus,
    candidatesIn,
    findSent: async () => new Map(),
    takeCutoff,
    bounds: { run: (_endpoint, _request, store) => store(async () => undefined) },
  });
  const request: BusRequest = {
    subject: subjects.endpointsReplay,
    headers: new Map([['id', 'wh_1']]),
    body: Buffer.from(JSON.stringify({ since: '2020-01-01' })),
    arrivedAtMs: 0,
    isGivenUp: false,
    deadline: performance.now() + leftMs,
    waitedForUntilMs: Infinity,
    isWaitedFor: () => Promise.resolve(true),
    wait: () => {
      throw new Error('it does not wait');
    },
    integration: 'acme',
    requestId: 'one',
    log: openLog({ service: 'test', level: 'silent' }),
  };
  return {
    published,
    replay: async (integration = 'acme') => handlers[subjects.endpointsReplay]?.({ ...request, integration }),
  };
}

it('a replay ends at its deadline, and returns how many events it has queued', async () => {
  const { published, replay } = setUp({ leftMs: 3_000 });
  const beganAt = Date.now();
  await expect(replay()).rejects.toMatchObject({
    code: 'timeout',
    detail: expect.stringContaining('; 0 of them will be sent.'),
  });
  expect(Date.now() - beganAt).toBeLessThan(3_000);
  await pause(50);
  expect(published).toEqual([]);
});

it('of six long replays of an integration four run, and a replay of another integration runs beside them', async () => {
  const { replay } = setUp({ leftMs: 3_000 });
  const replays = await Promise.allSettled([...Array(6).fill('acme'), 'other'].map((one) => replay(one)));
  const codes = replays.map((one) => (one.status === 'rejected' ? one.reason.code : one.value));
  const four = Array(4).fill('timeout');
  expect(codes).toEqual([...four, 'unavailable', 'unavailable', 'timeout']);
});

it.each([1, -1])('a replay goes on though the clock is set by %i h meanwhile', async (hours) => {
  const { published, replay } = setUp({ leftMs: 10_000, events: 200 });
  const replaying = replay();
  vi.setSystemTime(Date.now() + hours * 3_600_000);
  expect(await replaying).toMatchObject({ body: '{"queued":2}' });
  expect(published).toHaveLength(1);
});

it('a replay consists of event batches that are addressed to one endpoint', async () => {
  const { published, replay } = setUp({ leftMs: 10_000, events: 200 });
  expect(await replay()).toMatchObject({ body: '{"queued":2}' });
  expect(published).toEqual(['event-batches.replay.acme']);
});

it('a replay waits until every push is announced that was in progress when the webhook was enabled', async () => {
  const underWay = [['sync_b', 'sync_c'], ['sync_b'], ['sync_d'], ['sync_b']];
  const { replay } = setUp({ leftMs: 10_000, events: 200, underWay });
  expect(await replay()).toMatchObject({ body: '{"queued":2}' });
  expect(underWay).toEqual([['sync_b']]);
});

it('a replay waits for every push in progress where services did not say which were when the webhook was enabled', async () => {
  const underWay = [[unknownPushes], ['sync_b', 'sync_c'], ['sync_c', 'sync_d'], ['sync_d'], ['sync_d']];
  const { replay } = setUp({ leftMs: 10_000, events: 200, enabledBeside: [unknownPushes], underWay });
  expect(await replay()).toMatchObject({ body: '{"queued":2}' });
  expect(underWay).toEqual([['sync_d']]);
});

it('a replay that would wait for too long is answered 503, and sends nothing', async () => {
  const underWay = Array.from({ length: 100 }, () => ['sync_a']);
  const { published, replay } = setUp({ leftMs: 1_200, events: 200, underWay });
  await expect(replay()).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
  expect(published).toEqual([]);
});

it.each([
  ['refused with 409 if the webhook was disabled meanwhile', [0, 1], { code: 'conflict' }],
  ['answered with 202 if it was disabled before', [1, 1], { body: '{"queued":2}' }],
])('a replay is %s', async (_how, epochs, answer) => {
  const { replay } = setUp({ leftMs: 10_000, events: 200, epochs });
  expect(await replay().catch((error: unknown) => error)).toMatchObject(answer);
});
