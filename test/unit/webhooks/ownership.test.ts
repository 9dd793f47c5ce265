// What becomes of the partitions of a replica where MongoDB fails, and where the log is made again.
import { openLog } from '@integration-sync/runtime/log';
import { partitionsNumber } from '@integration-sync/contracts';
import { afterEach, expect, it, vi } from 'vitest';
import type { Claim } from '../../../services/webhooks/src/owning/partition-claims.ts';
import { OwnedPartitions, Ownership } from '../../../services/webhooks/src/owning/ownership.ts';
import { eventually } from '../../support/eventually.ts';
import { pause } from '../../support/pause.ts';

const until = (holds: () => boolean) => eventually(holds, Boolean);

/** One replica beside another one that comes and goes; claims stand in memory, and giving back fails as often as the test says. */
function setUp() {
  const replicas = ['self'];
  const given: Pick<Claim, 'partition' | 'floor'>[] = [];
  const ended: number[] = [];
  const replaced = new Set<number>();
  const stored = new Map<number, number>();
  let failures = 0;
  let isAnswerLost = false;
  let takeovers = 0;
  let lostPartitions = 0;
  let term = 0;
  let reading: Promise<void> | undefined;
  const stream = { facts: { id: 'one', createdAt: 'one', firstSequence: 1, lastSequence: 100 } };
  let onChange: (() => void) | undefined;
  const known = {
    self: 'self',
    isHeard: true,
    allOpenPlaces: true,
    gaps: 0,
    silenceMs: 2_500,
    isDead: () => false,
    wasTaken: () => void (takeovers += 1),
    sharing: () => replicas,
    share(changed: () => void) {
      onChange = changed;
      return { [Symbol.dispose]() {} };
    },
    async [Symbol.asyncDispose]() {},
  };
  const owned = new OwnedPartitions(known);
  const ownership = new Ownership({
    bus: { broadcast: () => undefined, listen: () => ({ [Symbol.dispose]() {} }) },
    replicas: known,
    claims: {
      async take(partitions: readonly number[]) {
        term += 1;
        for (const partition of partitions) stored.set(partition, term);
        if (isAnswerLost) throw new Error('no answer');
        return partitions.map((partition) => ({ partition, term, floor: 10, stream: stream.facts.id }));
      },
      areLost: false,
      terms: async () => new Map([...stored].filter(([partition]) => !replaced.has(partition))),
      async giveBack(claims: readonly Claim[]) {
        failures -= 1;
        if (failures >= 0) throw new Error('away');
        for (const { partition } of claims) stored.delete(partition);
        given.push(...claims.map(({ partition, floor }) => ({ partition, floor })));
      },
    } as never,
    offsets: { ofPartitions: async () => new Map() },
    owned,
    stream,
    forgetEndpoints: () => undefined,
    lostToOthers: (partitions: number) => void (lostPartitions += partitions),
    changes: {
      onTaken: async () => undefined,
      onReleased: async () => () => undefined,
      async onLost(lost) {
        ended.push(...lost.map(({ partition }) => partition));
        await reading;
      },
    },
    log: openLog({ service: 'test', level: 'silent' }),
  });
  return {
    ownership,
    owned,
    given,
    ended,
    replaced,
    stream,
    counted: () => ({ takeovers, lostPartitions }),
    terms: () => [...new Set(Array.from(owned.values(), (one) => one.term))],
    readUntil: (end: Promise<void>) => void (reading = end),
    loseAnswers: (areLost: boolean) => void (isAnswerLost = areLost),
    fail: (times: number) => void (failures = times),
    change: (others: readonly string[]) => {
      replicas.splice(1, Infinity, ...others);
      onChange?.();
    },
  };
}

afterEach(() => void vi.useRealTimers());

it('a replica notices and counts within 10 s that another replica has claimed its partition', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const { ownership, owned, ended, replaced, counted } = setUp();
  await using _ownership = ownership;
  await vi.advanceTimersByTimeAsync(500);
  expect(owned.size).toBe(partitionsNumber);
  replaced.add(3);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual([3]);
  expect(counted()).toEqual({ takeovers: 1, lostPartitions: 1 });
});

it('a replica releases a partition with its floor, also if the first try fails', async () => {
  const { ownership, owned, given, fail, change } = setUp();
  await using _ownership = ownership;
  await until(() => owned.size === partitionsNumber);
  for (const one of owned.values()) one.through = 70;
  fail(1);
  change(['other']);
  await until(() => given.length > 0);
  expect(owned.size + given.length).toBe(partitionsNumber);
  expect([...new Set(given.map(({ floor }) => floor))]).toEqual([70]);
});

it('a replica claims a partition again that it could not release', async () => {
  const { ownership, owned, given, fail, change, terms } = setUp();
  await using _ownership = ownership;
  await until(() => owned.size === partitionsNumber);
  fail(1);
  change(['other']);
  await until(() => owned.size < partitionsNumber);
  change([]);
  await until(() => owned.size === partitionsNumber);
  expect([given.length > 0, terms()]).toEqual([true, [1, 2]]);
});

it('partitions whose claim MongoDB did not answer are released once they are assigned to another replica', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const { ownership, owned, given, loseAnswers, change } = setUp();
  await using _ownership = ownership;
  loseAnswers(true);
  await vi.advanceTimersByTimeAsync(500);
  loseAnswers(false);
  change(['other']);
  await vi.advanceTimersByTimeAsync(12_000);
  expect(owned.size).toBeLessThan(partitionsNumber);
  expect(owned.size + given.length).toBe(partitionsNumber);
});

it('a replica claims its partitions again where the log was created again, once it has stopped reading the former log', async () => {
  const { ownership, owned, ended, stream, terms, readUntil } = setUp();
  await using _ownership = ownership;
  await until(() => owned.size === partitionsNumber);
  const { promise, resolve } = Promise.withResolvers<void>();
  readUntil(promise);
  stream.facts = { ...stream.facts, id: 'other' };
  await until(() => ended.length === partitionsNumber);
  await pause(1_100);
  expect(owned.size).toBe(0);
  resolve();
  await until(() => owned.size === partitionsNumber);
  expect([terms(), [...owned.values()].every((one) => one.stream === 'other')]).toEqual([[2], true]);
});
