import { expect, it } from 'vitest';
import { Lanes } from '../../../loader/src/core/sending/lanes.ts';

// Lanes against a simulated service, in a time of its own: no timer, no chance.

interface Service {
  /** The way there and back. */
  distanceMs: number;
  /** How many pushes the service works on at a time. */
  workers: number;
  workMs: (push: number) => number;
  /** With so many pushes at the service, another one is refused. */
  takes?: (push: number) => number;
}

interface Run {
  sent: number;
  tookMs: number;
  /** The most pushes that waited at the service, in the last half of the run. */
  waitedMost: number;
  refused: number;
  counts: number[];
}

interface Flight {
  sentAt: number;
  answersAt: number;
  isBusy: boolean;
  isRefused: boolean;
}

/** Sends so many pushes, as many at a time as `lanes` says. */
function run(service: Service, lanes: Pick<Lanes, 'count' | 'answered' | 'refused'>, pushes: number): Run {
  const flights: Flight[] = [];
  const freeAt = Array.from({ length: service.workers }, () => 0);
  const result: Run = { sent: 0, tookMs: 0, waitedMost: 0, refused: 0, counts: [] };
  let now = 0;
  /** When the pushes that are at the service begin and end their work. */
  let there: { from: number; to: number }[] = [];
  const send = (): void => {
    const arrivesAt = now + service.distanceMs / 2;
    there = there.filter(({ to }) => to > arrivesAt);
    const isRefused = there.length >= (service.takes?.(result.sent) ?? Infinity);
    let doneAt = arrivesAt;
    if (!isRefused) {
      const worker = freeAt.indexOf(Math.min(...freeAt));
      const from = Math.max(arrivesAt, freeAt[worker] ?? 0);
      doneAt = freeAt[worker] = from + service.workMs(result.sent);
      there.push({ from, to: doneAt });
      const waits = there.filter((one) => one.from > arrivesAt).length;
      if (result.sent > pushes / 2) result.waitedMost = Math.max(result.waitedMost, waits);
      result.sent += 1;
    }
    const answersAt = doneAt + service.distanceMs / 2;
    flights.push({ sentAt: now, answersAt, isBusy: flights.length + 1 >= lanes.count, isRefused });
  };
  while (result.sent < pushes || flights.length > 0) {
    while (result.sent < pushes && flights.length < lanes.count) send();
    flights.sort((one, other) => one.answersAt - other.answersAt);
    const flight = flights.shift();
    if (flight === undefined) break;
    now = flight.answersAt;
    if (flight.isRefused) {
      result.refused += 1;
      lanes.refused(flight.sentAt, now);
    } else lanes.answered(now - flight.sentAt, flight.isBusy);
    result.counts.push(lanes.count);
  }
  result.tookMs = now;
  return result;
}

const fixed = (count: number) => ({ count, answered: () => undefined, refused: () => undefined });
const mostLanes = 64;
const pushes = 4_000;
const numbers = [4, 8, 12, 16, 24, 32, 48, mostLanes];

const near = { distanceMs: 0, workers: 1, workMs: () => 33 };
const quick = { distanceMs: 0, workers: 1, workMs: () => 4 };
const replicas = { distanceMs: 1, workers: 8, workMs: () => 60 };
const differing = (push: number): number => 60 + ((push * 7_919) % 60);

it.each<[string, Service]>([
  ['one machine with all services', near],
  ['one machine 5 ms away', { ...near, distanceMs: 5 }],
  ['one machine 50 ms away', { ...near, distanceMs: 50 }],
  ['a quick service', quick],
  ['a quick service 5 ms away', { ...quick, distanceMs: 5 }],
  ['a quick service 50 ms away', { ...quick, distanceMs: 50 }],
  ['two replicas', replicas],
  ['two replicas 50 ms away', { ...replicas, distanceMs: 50 }],
  ['six replicas 50 ms away whose times differ', { distanceMs: 50, workers: 24, workMs: differing }],
])(
  'the loader loads into %s as quickly as with the best fixed number of pushes, while few pushes wait',
  (_what, service) => {
    const { tookMs, waitedMost, counts } = run(service, new Lanes(mostLanes), pushes);
    const all = numbers.map((number) => run(service, fixed(number), pushes).tookMs);
    expect(Math.min(...all) / tookMs).toBeGreaterThanOrEqual(0.9);
    expect(waitedMost).toBeLessThanOrEqual(10 + (counts.at(-1) ?? 0) / 4);
  },
);

it('the loader sends fewer concurrent pushes while a service 50 ms away slows down, and more once it is fast again', () => {
  const { counts } = run(
    { ...quick, distanceMs: 50, workMs: (push) => (push >= 1_000 && push < 2_000 ? 100 : 4) },
    new Lanes(mostLanes),
    3_000,
  );
  expect(counts[900]).toBeGreaterThanOrEqual(20);
  expect(Math.max(...counts.slice(1_100, 1_950))).toBeLessThanOrEqual(8);
  expect(counts.at(-1)).toBeGreaterThanOrEqual(20);
});

const manyFewMany = (push: number): number => (push < 1_000 ? Infinity : push < 2_000 ? 4 : 64);

it('the loader halves its concurrent pushes once for refusals of the same round, and later adds one at a time', () => {
  const lanes = new Lanes(mostLanes);
  const { counts, refused } = run(
    { distanceMs: 50, workers: 64, workMs: () => 10, takes: manyFewMany },
    lanes,
    8_000,
  );
  const first = counts.findIndex((count, at) => at > 900 && count < (counts[at - 1] ?? 0));
  const round = counts[first - 1] ?? 0;
  expect(counts[first]).toBe(Math.floor(round / 2));
  // All that was in flight is refused with it.
  expect(new Set(counts.slice(first, first + round / 2)).size).toBe(1);
  expect(Math.max(...counts.slice(first + 2 * round, 1_900))).toBeLessThan(round / 2);
  expect(refused).toBeLessThan(1_000 / 4);
  expect(counts.at(-1)).toBe(mostLanes);
});

it('the loader sends at least one push at a time, and no more concurrent pushes than its caller allows', () => {
  const alone = { ...quick, distanceMs: 50 };
  expect(new Set(run(alone, new Lanes(1), 100).counts)).toEqual(new Set([1]));
  expect(Math.max(...run(alone, new Lanes(12), 1_000).counts)).toBe(12);
  const lanes = new Lanes(12);
  for (let turn = 0; turn < 10; turn += 1) lanes.refused(turn, turn);
  expect(lanes.count).toBe(1);
});

it('the loader does not raise its limit of concurrent pushes while it sends fewer pushes', () => {
  const lanes = new Lanes(mostLanes);
  for (let turn = 0; turn < 1_000; turn += 1) lanes.answered(50, false);
  expect(lanes.count).toBe(4);
});

it('the loader keeps its limit of concurrent pushes when pushes of another kind of record take longer', () => {
  const lanes = new Lanes(mostLanes);
  const count = run({ ...quick, distanceMs: 50 }, lanes, 1_000).counts.at(-1) ?? 0;
  for (const kind of ['products', 'batches']) {
    lanes.changeKind();
    for (let turn = 0; turn < 100; turn += 1) lanes.answered(kind === 'products' ? 500 : 5_000, false);
    expect(lanes.count).toBe(count);
  }
});
