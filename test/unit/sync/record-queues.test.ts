import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openRecordQueues } from '../../../shared/sync/src/records/record-queues.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openDoor() {
  const queues = openRecordQueues();
  const begun: string[] = [];
  const givenUp = new Set<string>();
  return {
    givenUp,
    join(name: string, ids: string, listing = 'acme/suppliers') {
      const push = queues.join(listing, ids.split(''), () => givenUp.has(name));
      void (push.turn ?? Promise.resolve()).then(() => begun.push(name));
      return push;
    },
    /** Those that have begun since it was asked the last time. */
    async begun() {
      for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
      return begun.splice(0).join(' ');
    },
  };
}

it('a push waits for earlier pushes of its records, and for no other push', async () => {
  const door = openDoor();
  const first = door.join('first', 'ab');
  const second = door.join('second', 'cdd');
  const third = door.join('third', 'bc');
  const fourth = door.join('fourth', 'b');
  door.join('other', 'ab', 'acme/products');
  expect(await door.begun()).toBe('first second other');
  first[Symbol.dispose]();
  expect(await door.begun()).toBe('');
  second[Symbol.dispose]();
  expect(await door.begun()).toBe('third');
  third[Symbol.dispose]();
  expect(await door.begun()).toBe('fourth');
  fourth[Symbol.dispose]();
  door.join('last', 'abcd');
  expect(await door.begun()).toBe('last');
});

it('pushes keep their order after a push that stopped waiting', async () => {
  const door = openDoor();
  const first = door.join('first', 'a');
  const impatient = door.join('impatient', 'ab');
  door.join('third', 'b');
  impatient[Symbol.dispose]();
  impatient[Symbol.dispose]();
  door.join('fourth', 'a');
  expect(await door.begun()).toBe('first');
  first[Symbol.dispose]();
  expect(await door.begun()).toBe('third fourth');
});

it('a push waits for earlier pushes, but not for an earlier push whose caller no longer waits', async () => {
  const door = openDoor();
  const first = door.join('first', 'a');
  const second = door.join('second', 'a');
  door.join('third', 'a');
  door.givenUp.add('second');
  await vi.advanceTimersByTimeAsync(200);
  expect(await door.begun()).toBe('first');
  first[Symbol.dispose]();
  expect(await door.begun()).toBe('second');
  await vi.advanceTimersByTimeAsync(200);
  expect(await door.begun()).toBe('third');
  second[Symbol.dispose]();
});

it('the queue has a timer only while a push waits', async () => {
  const door = openDoor();
  const first = door.join('first', 'a');
  expect(vi.getTimerCount()).toBe(0);
  const second = door.join('second', 'a');
  expect(vi.getTimerCount()).toBe(1);
  first[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(200);
  expect(vi.getTimerCount()).toBe(0);
  second[Symbol.dispose]();
});
