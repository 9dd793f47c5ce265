import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openGate, type Gate, type WaitingRoom } from '@integration-sync/runtime/gate';

const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick += 1) await Promise.resolve();
};

it('lets so many in at once and the others one by one, in the order in which they came', async () => {
  const gate = openGate(2);
  const doors = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const entered: number[] = [];
  const passing = doors.map(({ promise }, index) =>
    gate.pass(() => {
      entered.push(index);
      return promise;
    }),
  );
  await ticks(10);
  expect(entered).toEqual([0, 1]);
  doors[1]?.resolve(1);
  await ticks(10);
  expect(entered).toEqual([0, 1, 2]);
  for (const [index, door] of doors.entries()) door.resolve(index);
  expect(await Promise.all(passing)).toEqual([0, 1, 2, 3, 4]);
  expect(entered).toEqual([0, 1, 2, 3, 4]);
});

it('gives the place of work that fails to the next', async () => {
  const gate = openGate(1);
  const failing = gate.pass(() => Promise.reject(new Error('no')));
  const throwing = gate.pass(() => {
    throw new Error('neither');
  });
  const going = gate.pass(() => Promise.resolve('yes'));
  await expect(failing).rejects.toThrow('no');
  await expect(throwing).rejects.toThrow('neither');
  await expect(going).resolves.toBe('yes');
  await expect(gate.pass(() => Promise.resolve('again'))).resolves.toBe('again');
});

/** The outcome of each arrival, in the order in which they happened. */
function openDoor(gate: Gate) {
  const seen: string[] = [];
  const enter = async (key: string, bytes = 1): Promise<void> => {
    try {
      await gate.enter(key, bytes);
      seen.push(key);
    } catch {
      seen.push(`no ${key}`);
    }
  };
  return {
    come(keys: string, bytes?: number) {
      for (const key of keys) void enter(key, bytes);
    },
    /** What happened since it was asked the last time. */
    async seen() {
      await ticks(5);
      return seen.splice(0).join(' ');
    },
  };
}

/** Enters, and gives up its place until it is let on. */
async function holdBack(gate: Gate, key: string) {
  await gate.enter(key, 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen: string[] = [];
  gate.giveUpUntil(key, 1, promise).then(
    () => seen.push('on'),
    () => seen.push('refused'),
  );
  return {
    letOn: resolve,
    async seen() {
      await ticks(5);
      return seen.join(' ');
    },
  };
}

describe('a gate with a waiting room', () => {
  const room: WaitingRoom = {
    countMax: 8,
    bytesMax: 800,
    shareMax: 1 / 2,
    patienceMs: 2_000,
    heldBackPatienceMs: 10_000,
  };

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('lets keys in by turns, however much one of them has brought', async () => {
    const gate = openGate(1, room);
    const door = openDoor(gate);
    door.come('aaaab');
    door.come('c');
    expect(await door.seen()).toBe('a');
    for (const next of ['a', 'b', 'c', 'a', 'a']) {
      gate.leave('a');
      expect(await door.seen()).toBe(next);
    }
    expect(gate).toMatchObject({ inside: 1, waiting: 0 });
  });

  it('prefers the key that has fewer places', async () => {
    const gate = openGate(3, room);
    const door = openDoor(gate);
    door.come('aaaaa');
    door.come('b');
    expect(await door.seen()).toBe('a a a');
    gate.leave('a');
    expect(await door.seen()).toBe('b');
    door.come('b');
    gate.leave('b');
    expect(await door.seen()).toBe('b');
    gate.leave('a');
    expect(await door.seen()).toBe('a');
    expect(gate).toMatchObject({ inside: 3, waiting: 1 });
  });

  it('keeps a part of the room from each key, by count and by bytes', async () => {
    const gate = openGate(1, room);
    const door = openDoor(gate);
    door.come('a');
    expect(await door.seen()).toBe('a');
    door.come('aaaaa');
    expect(await door.seen()).toBe('no a');
    door.come('b', 400);
    door.come('b', 1);
    expect(await door.seen()).toBe('no b');
    expect(gate.waiting).toBe(5);
  });

  it('takes room that is full from the key with the most for one with less, and from no key with less', async () => {
    const gate = openGate(1, room);
    const door = openDoor(gate);
    door.come('aaaaa');
    door.come('bbb');
    door.come('c');
    expect(await door.seen()).toBe('a');
    expect(gate.waiting).toBe(8);
    door.come('d');
    expect(await door.seen()).toBe('no a');
    door.come('b');
    expect(await door.seen()).toBe('no b');
    door.come('c');
    expect(await door.seen()).toBe('no a');
    expect(gate.waiting).toBe(8);

    const heavy = openDoor(openGate(1, room));
    heavy.come('a');
    heavy.come('a', 300);
    heavy.come('b', 300);
    heavy.come('c', 150);
    expect(await heavy.seen()).toBe('a');
    heavy.come('d', 200);
    expect(await heavy.seen()).toBe('no a');
  });

  it('refuses what has waited too long, but not the first of a key while turns go on', async () => {
    const gate = openGate(1, room);
    const door = openDoor(gate);
    door.come('aaa');
    door.come('bb');
    expect(await door.seen()).toBe('a');
    await vi.advanceTimersByTimeAsync(1_000);
    gate.leave('a');
    expect(await door.seen()).toBe('a');
    await vi.advanceTimersByTimeAsync(1_200);
    expect(await door.seen()).toBe('no b');
    gate.leave('a');
    expect(await door.seen()).toBe('b');
    await vi.advanceTimersByTimeAsync(1_900);
    expect(gate.waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await door.seen()).toBe('no a');
    expect(gate).toMatchObject({ inside: 1, waiting: 0 });
  });

  it('has no timer while nothing waits', async () => {
    const gate = openGate(1, room);
    const door = openDoor(gate);
    door.come('a');
    expect(vi.getTimerCount()).toBe(0);
    door.come('b');
    expect(vi.getTimerCount()).toBe(1);
    gate.leave('a');
    await vi.advanceTimersByTimeAsync(200);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps a spare place for a key that has none, and gives it to no other', async () => {
    const gate = openGate(2, room, 1);
    const door = openDoor(gate);
    door.come('aaa');
    expect(await door.seen()).toBe('a a');
    door.come('bb');
    expect(await door.seen()).toBe('b');
    door.come('c');
    expect(await door.seen()).toBe('');
    gate.leave('b');
    expect(await door.seen()).toBe('b');
    gate.leave('b');
    expect(await door.seen()).toBe('c');
    gate.leave('c');
    expect(await door.seen()).toBe('');
    gate.leave('a');
    expect(await door.seen()).toBe('a');
    expect(gate).toMatchObject({ inside: 2, waiting: 0 });
  });

  describe('for work that must wait for other work', () => {
    it('has others inside meanwhile, and its own next turn before work that had none', async () => {
      const gate = openGate(1, room);
      const [one, two] = [await holdBack(gate, 'a'), await holdBack(gate, 'a')];
      const door = openDoor(gate);
      door.come('aa');
      expect(await door.seen()).toBe('a');
      two.letOn();
      one.letOn();
      expect(await one.seen()).toBe('');
      gate.leave('a');
      expect([await one.seen(), await two.seen()]).toEqual(['on', '']);
      gate.leave('a');
      expect([await two.seen(), await door.seen()]).toEqual(['on', '']);
      gate.leave('a');
      expect(await door.seen()).toBe('a');
    });

    it('takes a place that is free at once', async () => {
      const gate = openGate(1, room);
      const one = await holdBack(gate, 'a');
      expect(gate).toMatchObject({ inside: 0, waiting: 1 });
      one.letOn();
      expect(await one.seen()).toBe('on');
      expect(gate).toMatchObject({ inside: 1, waiting: 0 });
    });

    it('is refused when nothing of its key has ended for as long as others wait', async () => {
      const gate = openGate(3, room);
      const door = openDoor(gate);
      door.come('ab');
      const one = await holdBack(gate, 'a');
      await vi.advanceTimersByTimeAsync(1_500);
      gate.leave('b');
      expect(await one.seen()).toBe('');
      await vi.advanceTimersByTimeAsync(600);
      expect(await one.seen()).toBe('refused');
      // It leaves as all do that have entered.
      expect(gate.inside).toBe(2);
      gate.leave('a');
      expect(gate).toMatchObject({ inside: 1, waiting: 0 });
    });

    it('is refused after a longer time where work of its key goes on', async () => {
      const gate = openGate(3, room);
      const one = await holdBack(gate, 'a');
      for (let passedMs = 0; passedMs < room.heldBackPatienceMs; passedMs += 1_000) {
        expect(await one.seen()).toBe('');
        await gate.enter('a', 1);
        gate.leave('a');
        await vi.advanceTimersByTimeAsync(1_000);
      }
      await vi.advanceTimersByTimeAsync(200);
      expect(await one.seen()).toBe('refused');
    });

    it('is refused where there is no room, and has its place until it leaves', async () => {
      const gate = openGate(1, { ...room, countMax: 2 });
      const door = openDoor(gate);
      door.come('aa');
      await expect(gate.giveUpUntil('a', 1, Promise.resolve())).rejects.toMatchObject({
        code: 'unavailable',
      });
      expect(gate).toMatchObject({ inside: 1, waiting: 1 });
    });
  });
});
