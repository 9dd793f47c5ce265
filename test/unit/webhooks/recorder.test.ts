import { expect, it } from 'vitest';
import { openRecorder, type FailedAttempt } from '../../../services/webhooks/src/delivering/recorder.ts';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { openEndpoint } from '../../support/webhook-parts.ts';

function setUp() {
  const stored = new Map(['one', 'other'].map((id) => [id, openEndpoint(id)]));
  const asked: string[] = [];
  const told: string[] = [];
  let broken = false;
  let losesAnswer = false;
  const ask = async (what: string): Promise<void> => {
    asked.push(what);
    await new Promise((resolve) => setImmediate(resolve));
    if (!broken) return;
    broken = false;
    throw new Error('away');
  };
  const loseAnswer = (): void => {
    if (!losesAnswer) return;
    losesAnswer = false;
    throw new Error('the answer got lost');
  };
  const recorder = openRecorder({
    endpoints: {
      async find(id) {
        await ask(`find ${id}`);
        return stored.get(id) ?? null;
      },
      async recordFailure(read, failures, trials) {
        await ask(`record ${read._id}`);
        const now = stored.get(read._id);
        if (now?.mark !== read.mark) return null;
        const after = { ...now, failures, trials: [...trials], isCircuitClosed: false, mark: now.mark + 1 };
        stored.set(read._id, after);
        loseAnswer();
        return after;
      },
      recordSuccess: () => Promise.resolve(false),
      async disable(read, { reason, failures, at }) {
        await ask(`disable ${read._id}`);
        const now = stored.get(read._id);
        if (now?.mark !== read.mark) return null;
        const { epoch, mark } = now;
        const after = {
          ...now,
          failures,
          active: false,
          disabledReason: reason,
          disabledAt: at,
          epoch: epoch + 1,
          mark: mark + 1,
        };
        stored.set(read._id, after);
        loseAnswer();
        return after;
      },
    },
    limit: openSemaphore({ max: 4 }).run,
    tellChanged: ({ _id }) => void told.push(_id),
    announce: () => undefined,
    metrics: { disabledBy: () => undefined },
  });
  const failAll = async (
    id: string,
    sequence: number,
    { attempts = 1, ...meant }: Partial<FailedAttempt> & { attempts?: number } = {},
  ) =>
    recorder.failed({
      endpoint: openEndpoint(id),
      verdict: 'failed',
      tried: { stream: 'one', sequence, index: 0, attempts, dueAtMs: 1_000 },
      missed: () => ({ sequence: 1, index: 0, open: [], stream: 'one' }),
      ...meant,
    });
  const fail = async (...meant: Parameters<typeof failAll>) => (await failAll(...meant)).next;
  const breakNext = (): void => {
    broken = true;
  };
  const loseNextAnswer = (): void => {
    losesAnswer = true;
  };
  return { stored, asked, told, fail, breakNext, loseNextAnswer };
}

it('counts one of the failures that end together, and asks the database once for all of them', async () => {
  const { stored, asked, fail } = setUp();
  const next = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((sequence) => fail('one', sequence)));
  expect(asked).toEqual(['record one']);
  expect(next.map((one) => one?.circuit)).toEqual(['open', ...Array.from({ length: 7 }, () => 'unchanged')]);
  expect(next.map((one) => one?.event)).toEqual(Array.from({ length: 8 }, () => 'again'));
  expect(stored.get('one')).toMatchObject({ failures: 1, trials: [{ sequence: 1 }] });
});

it('counts a failure that began after the one before it was counted', async () => {
  const { stored, fail } = setUp();
  const first = fail('one', 1);
  const second = fail('one', 1, { endpoint: { ...openEndpoint('one'), mark: 1, failures: 1 }, attempts: 2 });
  expect([(await first)?.failures, (await second)?.failures]).toEqual([1, 2]);
  expect(stored.get('one')?.failures).toBe(2);
});

it('misses what stands in line behind the failure that disables', async () => {
  const { stored, asked, fail } = setUp();
  const endpoint = { ...openEndpoint('one'), failures: 9 };
  stored.set('one', endpoint);
  const next = await Promise.all([1, 2, 3].map((sequence) => fail('one', sequence, { endpoint })));
  expect(asked).toEqual(['disable one']);
  expect(next.map((one) => one?.event)).toEqual(['missed', 'missed', 'missed']);
  expect(stored.get('one')).toMatchObject({ failures: 10, active: false, disabledReason: 'failures' });
});

it('disables an endpoint that is gone, though the failure before it in line was the one that counted', async () => {
  const { stored, fail } = setUp();
  await Promise.all([fail('one', 1), fail('one', 2, { verdict: 'gone' })]);
  expect(stored.get('one')).toMatchObject({ failures: 1, active: false, disabledReason: 'gone' });
});

it('keeps the failures of one endpoint apart from those of another', async () => {
  const { stored, fail } = setUp();
  await Promise.all([fail('one', 1), fail('other', 2), fail('one', 3)]);
  expect([stored.get('one')?.failures, stored.get('other')?.failures]).toEqual([1, 1]);
});

it('finds out what happened elsewhere, and forgets what it knew once the line is empty', async () => {
  const { stored, asked, fail } = setUp();
  await fail('one', 1);
  stored.set('one', { ...openEndpoint('one'), mark: 2, failures: 2 });
  expect((await fail('one', 3))?.circuit).toBe('unchanged');
  expect(asked).toEqual(['record one', 'record one', 'find one']);
});

it('does not fail because the one before it in line did', async () => {
  const { stored, fail, breakNext } = setUp();
  breakNext();
  const [first, second] = await Promise.allSettled([fail('one', 1), fail('one', 2)]);
  expect(first.status).toBe('rejected');
  expect(second).toMatchObject({ status: 'fulfilled', value: { circuit: 'open' } });
  expect(stored.get('one')).toMatchObject({ failures: 1, trials: [{ sequence: 2 }] });
});

it('finds the endpoint disabled where the answer to that got lost', async () => {
  const { stored, fail, loseNextAnswer } = setUp();
  loseNextAnswer();
  await expect(fail('one', 1, { verdict: 'gone' })).rejects.toThrow('lost');
  expect((await fail('one', 1, { verdict: 'gone' }))?.event).toBe('missed');
  expect(stored.get('one')?.active).toBe(false);
});

it('counts a failure once, and tells of it, where the answer to that got lost', async () => {
  const { stored, told, fail, loseNextAnswer } = setUp();
  loseNextAnswer();
  await expect(fail('one', 1)).rejects.toThrow('lost');
  expect(told).toEqual([]);
  expect(await fail('one', 1)).toMatchObject({ event: 'again', circuit: 'unchanged' });
  expect([told, stored.get('one')]).toMatchObject([['one'], { failures: 1, mark: 1 }]);
});

it('does not take a url that is gone for the one that came after it', async () => {
  const { stored, fail } = setUp();
  stored.set('one', { ...openEndpoint('one'), url: 'https://acme.example/new', version: 2, mark: 1 });
  const next = await fail('one', 1, { verdict: 'gone' });
  expect(next).toMatchObject({ event: 'again', circuit: 'unchanged', disable: undefined });
  expect(stored.get('one')).toMatchObject({ active: true, failures: 0 });
});

it('remembers how often an event was tried when another one is tried in its place', async () => {
  const { stored, fail } = setUp();
  const failAgain = (sequence: number, attempts: number) =>
    fail('one', sequence, { endpoint: stored.get('one') ?? openEndpoint('one'), attempts });
  await failAgain(1, 1);
  await failAgain(1, 2);
  await failAgain(2, 1);
  expect(stored.get('one')?.trials).toMatchObject([
    { sequence: 2, attempts: 1 },
    { sequence: 1, attempts: 2 },
  ]);
});

it('forgets the trials of a log that was created again', async () => {
  const { stored, fail } = setUp();
  await fail('one', 1);
  const endpoint = stored.get('one') ?? openEndpoint('one');
  const tried = { stream: 'another', sequence: 2, index: 0, attempts: 1, dueAtMs: 1_000 };
  await fail('one', 2, { endpoint, tried });
  expect(stored.get('one')?.trials).toEqual([tried]);
});
