import { openLaneTable, type LaneTable } from '../../../services/webhooks/src/delivering/lane.ts';
import { openLaneRunner } from '../../../services/webhooks/src/delivering/lane-runner.ts';
import { openLanes, type Job, type Lanes } from '../../../services/webhooks/src/delivering/lanes.ts';
import { describe, expect, test } from 'vitest';
import { passTurns } from '../../support/turns.ts';

const of = (endpointId: string, integration = 'acme') => ({ endpointId, integration });

/** Work that ends when a test says so. */
function work() {
  const started: string[] = [];
  const returned: string[] = [];
  const ends = new Map<string, () => void>();
  const job = (name: string): Required<Job> => ({
    async run() {
      started.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    },
    giveBack: () => void returned.push(name),
  });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    // A place that becomes free is given away in the next turn of the event loop.
    await passTurns(2);
  };
  return { started, returned, job, end };
}

describe('a lane', () => {
  test('has eight in flight, and the ninth begins when one ends', async () => {
    using lanes = openLanes({ inFlightMax: 100 });
    const { started, job, end } = work();
    for (let n = 1; n <= 9; n += 1) expect(lanes.offer(of('a'), job(`${n}`), 'shared')).toBe(true);
    expect(started).toHaveLength(8);
    expect(lanes.waiting).toBe(1);
    await end('3');
    expect(started.at(-1)).toBe('9');
    expect(lanes.waiting).toBe(0);
  });

  test('leaves the others alone', () => {
    using lanes = openLanes({ inFlightMax: 100 });
    const { started, job } = work();
    for (let n = 1; n <= 20; n += 1) lanes.offer(of('a'), job(`a${n}`), 'shared');
    lanes.offer(of('b'), job('b'), 'shared');
    expect(started).toContain('b');
  });

  test('has one in flight once half of all places are taken, and the others get theirs in turn', async () => {
    using lanes = openLanes({ inFlightMax: 12, perEndpoint: 6 });
    const { started, job, end } = work();
    for (let n = 1; n <= 8; n += 1) lanes.offer(of('a'), job(`a${n}`), 'shared');
    expect(started).toHaveLength(6);
    for (const name of ['b', 'c', 'd', 'e', 'f', 'g'])
      lanes.offer(of(name, `acme-${name}`), job(name), 'shared');
    expect(lanes.inFlight).toBe(12);
    lanes.offer(of('h', 'acme-h'), job('h'), 'shared');
    expect(started).not.toContain('h');
    await end('a1');
    expect(started.at(-1)).toBe('h');
    await end('b');
    expect(started).not.toContain('a7');
  });

  test('that an owner fills leaves the room of the stream as it is', async () => {
    using lanes = openLanes({ inFlightMax: 100, waitingMax: 2 }, () => 0);
    const { started, job, end } = work();
    for (let n = 1; n <= 20; n += 1) void lanes.run(of('kept'), job(`${n}`).run);
    expect(started).toHaveLength(8);
    expect(lanes.waiting).toBe(0);
    expect(lanes.room()).toBeUndefined();
    for (let n = 1; n <= 10; n += 1) lanes.offer(of('a'), job(`a${n}`), 'shared');
    expect(lanes.waiting).toBe(2);
    const room = lanes.room();
    expect(room).toBeInstanceOf(Promise);
    await end('1');
    expect(lanes.waiting).toBe(2);
    await end('a1');
    await room;
    expect(lanes.waiting).toBe(1);
  });

  test('is forgotten when it is empty', async () => {
    using lanes = openLanes({ inFlightMax: 10 });
    const { job, end } = work();
    lanes.offer(of('a'), job('1'), 'shared');
    expect(lanes.open).toBe(1);
    await end('1');
    expect(lanes.open).toBe(0);
  });
});

describe('places', () => {
  // Setup: 1,000 lanes of one integration, of which 20 have all places; the others wait.
  // What this proves: where 20 end at about the same time, the lanes that wait are gone through once, and not once for each.
  test('that become free together are given away together', async () => {
    const table = openLaneTable();
    let rounds = 0;
    const counted: LaneTable = {
      ...table,
      get size() {
        return table.size;
      },
      inTurn(places) {
        rounds += 1;
        return table.inTurn(places);
      },
    };
    const closing = new AbortController().signal;
    const waiting = { leave: () => undefined };
    const runner = openLaneRunner({
      table: counted,
      waiting,
      inFlightMax: 20,
      perEndpoint: 8,
      closing,
      now: () => 0,
    });
    const { started, job, end } = work();
    for (let n = 1; n <= 1_000; n += 1) {
      const lane = table.of(of(`wh_${n}`, `acme-${n % 100}`));
      if (runner.startsAtOnce(lane)) runner.start(lane, job(`${n}`));
      else table.enqueue(lane, { ...job(`${n}`), way: 'shared', since: 0 });
    }
    const first = [...started];
    expect(first.length).toBeGreaterThan(10);
    await Promise.all(first.map(end));
    expect(started).toHaveLength(2 * first.length);
    expect(rounds).toBe(1);
  });

  // Setup: half of all places and more are taken, and one waits for one.
  // What this proves: the place that becomes free is not for one that comes in the same turn of the event loop.
  test('that become free are for those that wait', async () => {
    using lanes = openLanes({ inFlightMax: 2 }, () => 0);
    const { started, job, end } = work();
    for (const name of ['a', 'b', 'c']) lanes.offer(of(name, name), job(name), 'shared');
    expect(started).toEqual(['a', 'b']);
    const ended = end('a');
    // What follows the end of a job in its turn.
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    lanes.offer(of('d', 'd'), job('d'), 'shared');
    await ended;
    expect(started).toEqual(['a', 'b', 'c']);
  });
});

describe('what waits too long', () => {
  test('is given back, and what comes after it is not taken until a place is free', async () => {
    let nowMs = 0;
    using lanes = openLanes({ inFlightMax: 10, perEndpoint: 1, patienceMs: 30 }, () => nowMs);
    const { started, returned, job, end } = work();
    for (const name of ['1', '2', '3']) lanes.offer(of('a'), job(name), 'shared');
    nowMs = 31;
    await expect.poll(() => returned).toEqual(['2', '3']);
    expect(lanes.offer(of('a'), job('4'), 'shared')).toBe(false);
    await end('1');
    expect(lanes.offer(of('a'), job('5'), 'shared')).toBe(true);
    expect(started).toEqual(['1', '5']);
  });

  test('is not given back where only the common bound keeps it waiting, but is once an attempt takes too long', async () => {
    let nowMs = 0;
    using lanes = openLanes({ inFlightMax: 2, perEndpoint: 4, patienceMs: 30 }, () => nowMs);
    const { started, returned, job, end } = work();
    for (const name of ['a1', 'a2', 'a3']) lanes.offer(of('a'), job(name), 'shared');
    lanes.offer(of('b'), job('b1'), 'shared');
    expect(started).toEqual(['a1', 'b1']);
    nowMs = 25;
    await end('a1');
    expect(started).toEqual(['a1', 'b1', 'a2']);
    nowMs = 40;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(returned).toEqual([]);
    nowMs = 60;
    await expect.poll(() => returned).toEqual(['a3']);
  });

  test('is not given back if it must be waited for', async () => {
    let nowMs = 0;
    using lanes = openLanes({ inFlightMax: 10, perEndpoint: 1, patienceMs: 30 }, () => nowMs);
    const { job, end } = work();
    lanes.offer(of('a'), job('1'), 'shared');
    const second = lanes.run(of('a'), async () => 'second');
    nowMs = 1_000;
    await new Promise((resolve) => setTimeout(resolve, 40));
    await end('1');
    expect(await second).toBe('second');
  });
});

test('nothing more is wanted while a bounded number waits', async () => {
  using lanes = openLanes({ inFlightMax: 10, perEndpoint: 1, waitingMax: 2 });
  const { job, end } = work();
  for (const name of ['1', '2', '3']) {
    expect(lanes.room()).toBeUndefined();
    lanes.offer(of('a'), job(name), 'shared');
  }
  const room = lanes.room();
  expect(room).toBeInstanceOf(Promise);
  await end('1');
  await room;
  expect(lanes.room()).toBeUndefined();
});

test('work that fails frees its place', async () => {
  using lanes = openLanes({ inFlightMax: 1 });
  await expect(lanes.run(of('a'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await lanes.run(of('a'), async () => 'yes')).toBe('yes');
});

test('closing gives back what waits and resolves when nothing is in flight', async () => {
  using lanes = openLanes({ inFlightMax: 10, perEndpoint: 1 });
  const { started, returned, job, end } = work();
  lanes.offer(of('a'), job('1'), 'shared');
  lanes.offer(of('a'), job('2'), 'shared');
  const closed = lanes.close();
  expect(returned).toEqual(['2']);
  expect(lanes.offer(of('b'), job('3'), 'shared')).toBe(false);
  await end('1');
  await closed;
  expect(started).toEqual(['1']);
});

/** Offers so many deliveries to so many endpoints. */
function fill(lanes: Lanes, { integration = 'busy', endpoints = 1_000, way = 'shared' as const } = {}) {
  const { started, returned, job, end } = work();
  for (let n = 0; n < endpoints; n += 1)
    lanes.offer(of(`${integration}-${n}`, integration), job(`${integration} ${n}`), way);
  return { started, returned, end };
}

describe('integrations', () => {
  test('that have nothing in flight find a place, however many hanging endpoints others have', () => {
    using lanes = openLanes({ inFlightMax: 100, waitingMax: 5_000 });
    const first = fill(lanes, { integration: 'first' });
    const second = fill(lanes, { integration: 'second' });
    expect(first.started.length).toBeGreaterThan(70);
    expect(second.started.length).toBeGreaterThan(0);
    expect(fill(lanes, { integration: 'other', endpoints: 1 }).started).toHaveLength(1);
    expect(lanes.inFlight).toBeLessThanOrEqual(100);
  });

  test('get freed places in turn', async () => {
    using lanes = openLanes({ inFlightMax: 4, waitingMax: 5_000 });
    const busy = fill(lanes, { endpoints: 50 });
    const other = fill(lanes, { integration: 'other', endpoints: 2 });
    expect([busy.started.length, other.started.length]).toEqual([4, 0]);
    for (const n of [0, 1, 2, 3]) await busy.end(`busy ${n}`);
    expect(other.started).toHaveLength(2);
    expect(busy.started).toHaveLength(6);
  });

  test('that have all they may have wait in no other one’s room: what came by the shared way is given back', async () => {
    let nowMs = 0;
    using lanes = openLanes({ inFlightMax: 20, waitingMax: 40, patienceMs: 30 }, () => nowMs);
    const busy = fill(lanes, { endpoints: 59 });
    expect(lanes.inFlight).toBeLessThan(20);
    const inFlight = lanes.inFlight;
    expect(lanes.room()).toBeInstanceOf(Promise);
    nowMs = 31;
    await expect.poll(() => busy.returned).toHaveLength(59 - inFlight);
    expect(lanes.room()).toBeUndefined();
  });

  test('have room for their backlogs apart, and one with a deep backlog leaves the shared way as it is', async () => {
    using lanes = openLanes({ inFlightMax: 100, perEndpoint: 1, waitingMax: 40 });
    const { job, end } = work();
    const offer = (integration: string, count: number, from = 0): void => {
      for (let n = from; n < from + count; n += 1)
        lanes.offer(of(integration, integration), job(`${integration} ${n}`), 'backlog');
    };
    offer('busy', 32);
    expect(lanes.backlogRoom('busy')).toBeUndefined();
    offer('busy', 1, 32);
    const room = lanes.backlogRoom('busy');
    expect(room).toBeInstanceOf(Promise);
    expect(lanes.room()).toBeUndefined();
    expect(lanes.backlogRoom('other')).toBeUndefined();
    await end('busy 0');
    await room;
    expect(lanes.backlogRoom('busy')).toBeUndefined();
  });
});
