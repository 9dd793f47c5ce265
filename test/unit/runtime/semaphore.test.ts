import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openSemaphore, type Semaphore, type SemaphoreOptions } from '@integration-sync/runtime/semaphore';

const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick += 1) await Promise.resolve();
};

it('a semaphore runs a bounded number of jobs concurrently, and further jobs in the order of arrival', async () => {
  const semaphore = openSemaphore({ max: 2 });
  const doors = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const entered: number[] = [];
  const passing = doors.map(({ promise }, index) =>
    semaphore.run(() => {
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

it('a semaphore gives the permit of a failed job to the next job', async () => {
  const semaphore = openSemaphore({ max: 1 });
  const failing = semaphore.run(() => Promise.reject(new Error('no')));
  const throwing = semaphore.run(() => {
    throw new Error('neither');
  });
  const going = semaphore.run(() => Promise.resolve('yes'));
  await expect(failing).rejects.toThrow('no');
  await expect(throwing).rejects.toThrow('neither');
  await expect(going).resolves.toBe('yes');
  await expect(semaphore.run(() => Promise.resolve('again'))).resolves.toBe('again');
});

/** The outcome of each arrival, in the order in which they happened. */
function openArrivals(semaphore: Semaphore) {
  const seen: string[] = [];
  const enter = async (key: string, bytes = 1): Promise<void> => {
    try {
      await semaphore.acquire(key, bytes);
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
async function holdBack(semaphore: Semaphore, key: string) {
  await semaphore.acquire(key, 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen: string[] = [];
  semaphore.releaseUntil(key, 1, promise).then(
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

describe('with a bounded queue', () => {
  const queue: NonNullable<SemaphoreOptions['queue']> = {
    countMax: 8,
    bytesMax: 800,
    shareMax: 1 / 2,
    patienceMs: 2_000,
    heldBackPatienceMs: 10_000,
  };

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('a semaphore admits keys in turns, however many jobs one key has', async () => {
    const semaphore = openSemaphore({ max: 1, queue });
    const arrivals = openArrivals(semaphore);
    arrivals.come('aaaab');
    arrivals.come('c');
    expect(await arrivals.seen()).toBe('a');
    for (const next of ['a', 'b', 'c', 'a', 'a']) {
      semaphore.release('a');
      expect(await arrivals.seen()).toBe(next);
    }
    expect(semaphore).toMatchObject({ held: 1, waiting: 0 });
  });

  it('a semaphore prefers the key with fewer permits', async () => {
    const semaphore = openSemaphore({ max: 3, queue });
    const arrivals = openArrivals(semaphore);
    arrivals.come('aaaaa');
    arrivals.come('b');
    expect(await arrivals.seen()).toBe('a a a');
    semaphore.release('a');
    expect(await arrivals.seen()).toBe('b');
    arrivals.come('b');
    semaphore.release('b');
    expect(await arrivals.seen()).toBe('b');
    semaphore.release('a');
    expect(await arrivals.seen()).toBe('a');
    expect(semaphore).toMatchObject({ held: 3, waiting: 1 });
  });

  it('a semaphore bounds the waiting jobs of each key, by count and by bytes', async () => {
    const semaphore = openSemaphore({ max: 1, queue });
    const arrivals = openArrivals(semaphore);
    arrivals.come('a');
    expect(await arrivals.seen()).toBe('a');
    arrivals.come('aaaaa');
    expect(await arrivals.seen()).toBe('no a');
    arrivals.come('b', 400);
    arrivals.come('b', 1);
    expect(await arrivals.seen()).toBe('no b');
    expect(semaphore.waiting).toBe(5);
  });

  it('a full queue drops a job of the key with most jobs for a job of a key with fewer jobs', async () => {
    const semaphore = openSemaphore({ max: 1, queue });
    const arrivals = openArrivals(semaphore);
    arrivals.come('aaaaa');
    arrivals.come('bbb');
    arrivals.come('c');
    expect(await arrivals.seen()).toBe('a');
    expect(semaphore.waiting).toBe(8);
    arrivals.come('d');
    expect(await arrivals.seen()).toBe('no a');
    arrivals.come('b');
    expect(await arrivals.seen()).toBe('no b');
    arrivals.come('c');
    expect(await arrivals.seen()).toBe('no a');
    expect(semaphore.waiting).toBe(8);

    const heavy = openArrivals(openSemaphore({ max: 1, queue }));
    heavy.come('a');
    heavy.come('a', 300);
    heavy.come('b', 300);
    heavy.come('c', 150);
    expect(await heavy.seen()).toBe('a');
    heavy.come('d', 200);
    expect(await heavy.seen()).toBe('no a');
  });

  it('a semaphore refuses a job that has waited too long, but not the first waiting job of a key while other jobs get permits', async () => {
    const semaphore = openSemaphore({ max: 1, queue });
    const arrivals = openArrivals(semaphore);
    arrivals.come('aaa');
    arrivals.come('bb');
    expect(await arrivals.seen()).toBe('a');
    await vi.advanceTimersByTimeAsync(1_000);
    semaphore.release('a');
    expect(await arrivals.seen()).toBe('a');
    await vi.advanceTimersByTimeAsync(1_200);
    expect(await arrivals.seen()).toBe('no b');
    semaphore.release('a');
    expect(await arrivals.seen()).toBe('b');
    await vi.advanceTimersByTimeAsync(1_900);
    expect(semaphore.waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await arrivals.seen()).toBe('no a');
    expect(semaphore).toMatchObject({ held: 1, waiting: 0 });
  });

  it('a semaphore has no timer while no job waits', async () => {
    const semaphore = openSemaphore({ max: 1, queue });
    const arrivals = openArrivals(semaphore);
    arrivals.come('a');
    expect(vi.getTimerCount()).toBe(0);
    arrivals.come('b');
    expect(vi.getTimerCount()).toBe(1);
    semaphore.release('a');
    await vi.advanceTimersByTimeAsync(200);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('a semaphore keeps a spare permit for a key without permits', async () => {
    const semaphore = openSemaphore({ max: 2, queue, spare: 1 });
    const arrivals = openArrivals(semaphore);
    arrivals.come('aaa');
    expect(await arrivals.seen()).toBe('a a');
    arrivals.come('bb');
    expect(await arrivals.seen()).toBe('b');
    arrivals.come('c');
    expect(await arrivals.seen()).toBe('');
    semaphore.release('b');
    expect(await arrivals.seen()).toBe('b');
    semaphore.release('b');
    expect(await arrivals.seen()).toBe('c');
    semaphore.release('c');
    expect(await arrivals.seen()).toBe('');
    semaphore.release('a');
    expect(await arrivals.seen()).toBe('a');
    expect(semaphore).toMatchObject({ held: 2, waiting: 0 });
  });

  describe('a job that must wait for another job', () => {
    it('lets other jobs run meanwhile, and gets the next turn before new jobs', async () => {
      const semaphore = openSemaphore({ max: 1, queue });
      const [one, two] = [await holdBack(semaphore, 'a'), await holdBack(semaphore, 'a')];
      const arrivals = openArrivals(semaphore);
      arrivals.come('aa');
      expect(await arrivals.seen()).toBe('a');
      two.letOn();
      one.letOn();
      expect(await one.seen()).toBe('');
      semaphore.release('a');
      expect([await one.seen(), await two.seen()]).toEqual(['on', '']);
      semaphore.release('a');
      expect([await two.seen(), await arrivals.seen()]).toEqual(['on', '']);
      semaphore.release('a');
      expect(await arrivals.seen()).toBe('a');
    });

    it('takes a free permit immediately', async () => {
      const semaphore = openSemaphore({ max: 1, queue });
      const one = await holdBack(semaphore, 'a');
      expect(semaphore).toMatchObject({ held: 0, waiting: 1 });
      one.letOn();
      expect(await one.seen()).toBe('on');
      expect(semaphore).toMatchObject({ held: 1, waiting: 0 });
    });

    it('is refused when no job of its key has ended within the time-out', async () => {
      const semaphore = openSemaphore({ max: 3, queue });
      const arrivals = openArrivals(semaphore);
      arrivals.come('ab');
      const one = await holdBack(semaphore, 'a');
      await vi.advanceTimersByTimeAsync(1_500);
      semaphore.release('b');
      expect(await one.seen()).toBe('');
      await vi.advanceTimersByTimeAsync(600);
      expect(await one.seen()).toBe('refused');
      // It leaves as all do that have entered.
      expect(semaphore.held).toBe(2);
      semaphore.release('a');
      expect(semaphore).toMatchObject({ held: 1, waiting: 0 });
    });

    it('is refused only after a longer time-out while other jobs of its key end', async () => {
      const semaphore = openSemaphore({ max: 3, queue });
      const one = await holdBack(semaphore, 'a');
      for (let passedMs = 0; passedMs < queue.heldBackPatienceMs; passedMs += 1_000) {
        expect(await one.seen()).toBe('');
        await semaphore.acquire('a', 1);
        semaphore.release('a');
        await vi.advanceTimersByTimeAsync(1_000);
      }
      await vi.advanceTimersByTimeAsync(200);
      expect(await one.seen()).toBe('refused');
    });

    it('is refused where the queue is full, and keeps its permit until it releases the permit', async () => {
      const semaphore = openSemaphore({ max: 1, queue: { ...queue, countMax: 2 } });
      const arrivals = openArrivals(semaphore);
      arrivals.come('aa');
      await expect(semaphore.releaseUntil('a', 1, Promise.resolve())).rejects.toMatchObject({
        code: 'unavailable',
      });
      expect(semaphore).toMatchObject({ held: 1, waiting: 1 });
    });
  });
});

it('a semaphore with aloneForMs runs one job at a time, and more jobs concurrently once jobs have waited for this time', async () => {
  vi.useFakeTimers();
  using _ = { [Symbol.dispose]: () => void vi.useRealTimers() };
  const limit = openSemaphore({ max: 3, aloneForMs: 100 }).run;
  let underWay = 0;
  let most = 0;
  const work = (ms: number) => async (): Promise<void> => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setTimeout(resolve, ms));
    underWay -= 1;
  };
  const short = Promise.all(Array.from({ length: 10 }, () => limit(work(2))));
  await vi.advanceTimersByTimeAsync(90);
  await short;
  expect(most).toBe(1);
  const long = Promise.all(Array.from({ length: 5 }, () => limit(work(300))));
  await vi.advanceTimersByTimeAsync(250);
  expect(underWay).toBe(3);
  await vi.advanceTimersByTimeAsync(1_500);
  await long;
  expect(most).toBe(3);
});

it('a semaphore gives keys their turns in order, however many jobs one key has', async () => {
  const limit = openSemaphore({ max: 1 }).run;
  const begun: string[] = [];
  const work = (name: string) => async (): Promise<void> => {
    begun.push(name);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await Promise.all([
    ...[1, 2, 3, 4, 5].map((n) => limit(work(`busy ${n}`), 'busy')),
    ...[1, 2].map((n) => limit(work(`other ${n}`), 'other')),
  ]);
  expect(begun).toEqual(['busy 1', 'busy 2', 'other 1', 'busy 3', 'other 2', 'busy 4', 'busy 5']);
});

it('a semaphore with a bound for each key keeps a turn for a key without permits', async () => {
  const limit = openSemaphore({ max: 2, perKeyMax: 1 }).run;
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => async (): Promise<void> => {
    begun.push(name);
    await new Promise<void>((resolve) => ends.push(resolve));
  };
  const all = [limit(work('busy 1'), 'busy'), limit(work('busy 2'), 'busy')];
  await Promise.resolve();
  all.push(limit(work('other'), 'other'));
  await expect.poll(() => begun).toEqual(['busy 1', 'other']);
  ends[0]?.();
  await expect.poll(() => begun).toEqual(['busy 1', 'other', 'busy 2']);
  for (const end of ends) end();
  await Promise.all(all);
});

/** Takes in turns what it can get, and says how much each of them has. */
function takeAll(count: number, options: SemaphoreOptions) {
  const semaphore = openSemaphore(options);
  const names = Array.from({ length: count }, (_, n) => `acme-${n}`);
  for (let before = -1; semaphore.held > before;) {
    before = semaphore.held;
    for (const name of names) if (semaphore.mayTake(name)) semaphore.take(name);
  }
  return { semaphore, each: names.map((name) => semaphore.heldBy(name)) };
}

describe('a semaphore that bounds the share of each key', () => {
  it.each([
    { count: 1, each: 921, free: 103 },
    { count: 2, each: 482, free: 60 },
    { count: 10, each: 100, free: 24 },
  ])(
    'grants $each of 1,024 permits to each of $count keys, and leaves $free free',
    ({ count, each, free }) => {
      const { semaphore, each: all } = takeAll(count, { max: 1_024, share: { timesFree: 10, kept: 10 } });
      expect(Math.abs(semaphore.free - free)).toBeLessThanOrEqual(8);
      for (const own of all) expect(Math.abs(own - each)).toBeLessThanOrEqual(8);
    },
  );

  it('grants a permit to a key without permits immediately, and to other keys only after a release', () => {
    const { semaphore } = takeAll(1, { max: 64, share: { timesFree: 3 } });
    expect(semaphore.heldBy('acme-0')).toBe(48);
    expect(semaphore.mayTake('acme-0')).toBe(false);
    expect(semaphore.mayTake('other')).toBe(true);
    semaphore.take('other');
    semaphore.take('other');
    semaphore.release('acme-0');
    semaphore.release('acme-0');
    expect(semaphore.mayTake('acme-0')).toBe(true);
    semaphore.take('acme-0');
    expect(semaphore.mayTake('acme-0')).toBe(false);
  });

  it('keeps the last permits for keys without permits', () => {
    const { semaphore, each } = takeAll(3, { max: 100, share: { timesFree: 10, kept: 5 } });
    expect(each.every((own) => own > 0)).toBe(true);
    expect(semaphore.free).toBeGreaterThanOrEqual(5);
    while (semaphore.free > 5) semaphore.take('late');
    for (let n = 0; n < 5; n += 1) {
      expect(semaphore.mayTake(`late-${n}`)).toBe(true);
      semaphore.take(`late-${n}`);
      expect(semaphore.mayTake(`late-${n}`)).toBe(false);
    }
  });

  it('counts permits of work that cannot be refused, also beyond the bound', () => {
    const semaphore = openSemaphore({ max: 10, share: { timesFree: 1 } });
    for (let n = 0; n < 12; n += 1) semaphore.take('acme');
    expect([semaphore.held, semaphore.free, semaphore.mayTake('other')]).toEqual([12, 0, false]);
    for (let n = 0; n < 12; n += 1) semaphore.release('acme');
    expect([semaphore.held, semaphore.free, semaphore.heldBy('acme'), semaphore.mayTake('other')]).toEqual([
      0,
      10,
      0,
      true,
    ]);
  });

  it('grants every permit where the semaphore has only eight', () => {
    const { semaphore } = takeAll(2, { max: 8, share: { timesFree: 10 } });
    expect(semaphore.held).toBe(8);
  });
});
