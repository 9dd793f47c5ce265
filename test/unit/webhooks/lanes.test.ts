import { openLanes, type Job } from '../../../services/webhooks/src/lanes.ts';
import { describe, expect, test } from 'vitest';

/** Work that ends when it is told to. */
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
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, returned, job, end };
}

describe('a lane', () => {
  test('has eight in flight, and the ninth begins when one ends', async () => {
    using lanes = openLanes({ inFlightMax: 100 });
    const { started, job, end } = work();
    for (let n = 1; n <= 9; n += 1) expect(lanes.offer('a', job(`${n}`))).toBe(true);
    expect(started).toHaveLength(8);
    expect(lanes.waiting).toBe(1);
    await end('3');
    expect(started.at(-1)).toBe('9');
    expect(lanes.waiting).toBe(0);
  });

  test('leaves the others alone', () => {
    using lanes = openLanes({ inFlightMax: 100 });
    const { started, job } = work();
    for (let n = 1; n <= 20; n += 1) lanes.offer('a', job(`a${n}`));
    lanes.offer('b', job('b'));
    expect(started).toContain('b');
  });

  test('has one in flight once half of all places are taken, and the others get theirs in turn', async () => {
    using lanes = openLanes({ inFlightMax: 12, perEndpoint: 6 });
    const { started, job, end } = work();
    for (let n = 1; n <= 8; n += 1) lanes.offer('a', job(`a${n}`));
    expect(started).toHaveLength(6);
    for (const name of ['b', 'c', 'd', 'e', 'f', 'g']) lanes.offer(name, job(name));
    expect(lanes.inFlight).toBe(12);
    lanes.offer('h', job('h'));
    expect(started).not.toContain('h');
    await end('a1');
    expect(started.at(-1)).toBe('h');
    await end('b');
    expect(started).not.toContain('a7');
  });

  test('that a keeper fills leaves the room of the stream as it is', async () => {
    using lanes = openLanes({ inFlightMax: 100, waitingMax: 2 });
    const { started, job, end } = work();
    for (let n = 1; n <= 20; n += 1) void lanes.run('kept', job(`${n}`).run);
    expect(started).toHaveLength(8);
    expect(lanes.waiting).toBe(0);
    expect(lanes.room()).toBeUndefined();
    for (let n = 1; n <= 10; n += 1) lanes.offer('a', job(`a${n}`));
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
    lanes.offer('a', job('1'));
    expect(lanes.open).toBe(1);
    await end('1');
    expect(lanes.open).toBe(0);
  });
});

describe('what waits too long', () => {
  test('is given back, and what comes after it is not taken until a place is free', async () => {
    let nowMs = 0;
    using lanes = openLanes({ inFlightMax: 10, perEndpoint: 1, patienceMs: 30 }, () => nowMs);
    const { started, returned, job, end } = work();
    for (const name of ['1', '2', '3']) lanes.offer('a', job(name));
    nowMs = 31;
    await expect.poll(() => returned).toEqual(['2', '3']);
    expect(lanes.offer('a', job('4'))).toBe(false);
    await end('1');
    expect(lanes.offer('a', job('5'))).toBe(true);
    expect(started).toEqual(['1', '5']);
  });

  test('is not given back where only the common bound keeps it waiting, but is once an attempt takes too long', async () => {
    let nowMs = 0;
    using lanes = openLanes({ inFlightMax: 2, perEndpoint: 4, patienceMs: 30 }, () => nowMs);
    const { started, returned, job, end } = work();
    for (const name of ['a1', 'a2', 'a3']) lanes.offer('a', job(name));
    lanes.offer('b', job('b1'));
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
    lanes.offer('a', job('1'));
    const second = lanes.run('a', async () => 'second');
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
    lanes.offer('a', job(name));
  }
  const room = lanes.room();
  expect(room).toBeInstanceOf(Promise);
  await end('1');
  await room;
  expect(lanes.room()).toBeUndefined();
});

test('work that fails frees its place', async () => {
  using lanes = openLanes({ inFlightMax: 1 });
  await expect(lanes.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await lanes.run('a', async () => 'yes')).toBe('yes');
});

test('closing gives back what waits and resolves when nothing is in flight', async () => {
  using lanes = openLanes({ inFlightMax: 10, perEndpoint: 1 });
  const { started, returned, job, end } = work();
  lanes.offer('a', job('1'));
  lanes.offer('a', job('2'));
  const closed = lanes.close();
  expect(returned).toEqual(['2']);
  expect(lanes.offer('b', job('3'))).toBe(false);
  await end('1');
  await closed;
  expect(started).toEqual(['1']);
});
