// How the deliveries to one endpoint stand, after anything that can happen.
import { isDeepStrictEqual } from 'node:util';
import { array, assert, boolean, constantFrom, nat, oneof, property, record, constant } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applied,
  begins,
  type Change,
  delayAfter,
  type DeliveryState,
  stateOf,
  step,
} from '../../../services/webhooks/src/delivering/delivery-state.ts';
import type { Subscriber, Trial } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openEndpoint } from '../../support/webhook-parts.ts';

const found: Subscriber = { ...openEndpoint('wh_1'), open: false };
const open = stateOf(found);

const changeOf = (
  state: DeliveryState,
  verdict: Change['verdict'],
  attempts = 1,
  more: Partial<Change> = {},
): Change => ({
  verdict,
  version: state.version,
  url: state.url,
  epoch: state.epoch,
  round: state.round,
  tried: { stream: 'one', sequence: 1, index: attempts, attempts, dueAtMs: 0 },
  trialsMax: 8,
  ...more,
});

const with9 = { ...open, failures: 9 };
const closed = { ...open, isCircuitClosed: true };
const moved = { version: 2, url: 'https://other.example/' };
const afterMove = (state: DeliveryState): DeliveryState => applied(state, { ...found, ...moved });
const earlier = { round: -1 };

describe('an attempt at an endpoint', () => {
  it.each([
    [
      'a 2xx while the circuit is closed',
      closed,
      changeOf(open, 'succeeded'),
      'delivered',
      'no',
      true,
      0,
      undefined,
    ],
    [
      'a 2xx while the circuit is open',
      with9,
      changeOf(open, 'succeeded'),
      'delivered',
      'now',
      true,
      0,
      undefined,
    ],
    [
      'a 2xx of the former url',
      { ...with9, ...moved },
      changeOf(open, 'succeeded'),
      'delivered',
      'no',
      false,
      9,
      undefined,
    ],
    [
      'a 410 of a url that the owner has not heard of',
      closed,
      changeOf(open, 'gone', 1, moved),
      'missed',
      'now',
      false,
      1,
      'gone',
    ],
    ['a first failure', closed, changeOf(open, 'failed'), 'again', 'now', false, 1, undefined],
    [
      'a third failure',
      { ...open, failures: 2 },
      changeOf(open, 'failed', 3),
      'again',
      'now',
      false,
      3,
      undefined,
    ],
    [
      'a fourth failure',
      { ...open, failures: 3 },
      changeOf(open, 'failed', 4),
      'given up',
      'now',
      false,
      4,
      undefined,
    ],
    ['the tenth failure', with9, changeOf(open, 'failed', 2), 'missed', 'now', false, 10, 'failures'],
    [
      'the tenth failure in a row, the fourth of its event',
      with9,
      changeOf(open, 'failed', 4),
      'given up',
      'now',
      false,
      10,
      'failures',
    ],
    ['410', open, changeOf(open, 'gone'), 'missed', 'now', false, 1, 'gone'],
    ['410 that does not count', open, changeOf(open, 'gone', 1, earlier), 'missed', 'now', false, 0, 'gone'],
    [
      '410 of the former url',
      afterMove(closed),
      changeOf(open, 'gone'),
      'again',
      'soon',
      false,
      0,
      undefined,
    ],
    [
      'a failure that does not count',
      closed,
      changeOf(open, 'failed', 1, earlier),
      'again',
      'soon',
      true,
      0,
      undefined,
    ],
    [
      'a fourth failure that does not count',
      closed,
      changeOf(open, 'failed', 4, earlier),
      'given up',
      'soon',
      true,
      0,
      undefined,
    ],
    [
      'a tenth failure in a row that does not count',
      with9,
      changeOf(open, 'failed', 2, earlier),
      'again',
      'soon',
      false,
      9,
      undefined,
    ],
    [
      'a failure of the former url',
      afterMove(with9),
      changeOf(open, 'failed'),
      'again',
      'soon',
      false,
      9,
      undefined,
    ],
    [
      'a failure before the url changed and changed back',
      applied(afterMove(with9), { ...found, version: 3 }),
      changeOf(open, 'failed'),
      'again',
      'soon',
      false,
      9,
      undefined,
    ],
  ] as const)('%s has its effect', (_, state, change, event, store, isCircuitClosed, failures, disable) => {
    const next = step(state, change);
    expect(next).toMatchObject({
      event,
      store,
      state: { isCircuitClosed, failures, isActive: disable === undefined },
    });
    expect(next.disable).toBe(disable);
  });

  it.each(['failed', 'gone', 'succeeded'] as const)(
    'that ends as %s after a disabling changes nothing',
    (verdict) => {
      for (const state of [
        { ...open, isActive: false },
        { ...open, epoch: 1 },
      ])
        expect(step(state, changeOf(open, verdict))).toMatchObject({
          state,
          store: 'no',
          event: verdict === 'succeeded' ? 'delivered' : 'missed',
        });
    },
  );
});

it('a disabling raises version and epoch in memory as its update in MongoDB does, and removes the trials', () => {
  const { tried } = changeOf(open, 'failed');
  const { state } = step({ ...with9, trials: [tried] }, changeOf(open, 'failed', 2));
  expect(state).toMatchObject({ version: open.version + 1, epoch: open.epoch + 1, trials: [] });
});

const trialsAfter = (trials: readonly Trial[], tried: Trial, more: Partial<Change> = {}) =>
  step({ ...open, trials }, { ...changeOf(open, 'failed'), tried, ...more }).state.trials;

describe('the stored trials of an endpoint', () => {
  const [first, second, third] = [1, 2, 3].map((number) => changeOf(open, 'failed', number).tried);
  if (first === undefined || second === undefined || third === undefined) throw new Error('there are three');

  it('have each event once, the event of the last counted failure first', () => {
    const again = { ...second, attempts: 3 };
    expect(trialsAfter([first, second], again)).toEqual([again, first]);
  });

  it('keep their first event where a failure does not count', () => {
    expect(trialsAfter([first, second], third, earlier)).toEqual([first, third, second]);
  });

  it('lose trials of a former log once the log was created again', () => {
    expect(trialsAfter([{ ...first, stream: 'the log before' }, second], third)).toEqual([third, second]);
  });

  it('are at most the open events of the endpoint', () => {
    expect(trialsAfter([first, second], third, { trialsMax: 2 })).toEqual([third, first]);
  });
});

describe('a newer version of an endpoint', () => {
  it('opens the circuit where the url has changed, and leaves the count of failures', () => {
    const state = applied({ ...closed, failures: 3 }, { ...found, ...moved, open: true });
    expect(state).toMatchObject({ ...moved, isCircuitClosed: false, failures: 3 });
    expect(begins(closed, state)).toBe(false);
  });

  it('resets the state where the endpoint was enabled, although no replica heard of the disabling', () => {
    const state = applied(with9, { ...found, version: 3, epoch: 1 });
    expect([state.failures, state.isActive, begins(with9, state)]).toEqual([0, true, true]);
    expect(step(state, changeOf(with9, 'failed'))).toMatchObject({ event: 'missed', store: 'no' });
  });

  it('changes only the version where url and epoch are the same, and an older version changes nothing', () => {
    const busy = { ...closed, failures: 2, round: 4 };
    expect(applied(busy, { ...found, version: 2 })).toEqual({ ...busy, version: 2 });
    expect(applied(busy, found)).toBe(busy);
  });
});

it('an endpoint that always fails gets attempts at 0, 1, 6, 36, 36, 37, 42, 72, 72 and 73 s', () => {
  const hits: number[] = [];
  let atMs = 0;
  let state = open;
  for (let number = 1; state.isActive;) {
    hits.push(atMs / 1_000);
    const next = step(state, changeOf(state, 'failed', number));
    state = next.state;
    if (next.event === 'again') atMs += delayAfter(number, 0);
    number = next.event === 'again' ? number + 1 : 1;
  }
  expect(hits).toEqual([0, 1, 6, 36, 36, 37, 42, 72, 72, 73]);
});

it('the next attempt is due at Retry-After, and no earlier than the schedule says', () => {
  expect([delayAfter(1, 0), delayAfter(1, 60_000), delayAfter(3, 1_000)]).toEqual([1_000, 60_000, 30_000]);
});

/** What MongoDB has after the owner has stored the state. */
const storedIn = (before: Subscriber, state: DeliveryState): Subscriber => ({
  ...before,
  version: state.version,
  epoch: state.epoch,
  active: state.isActive,
  failures: state.failures,
  open: state.isCircuitClosed,
  trials: [...state.trials],
});

const happening = oneof(
  {
    weight: 4,
    arbitrary: record({
      verdict: constantFrom('failed', 'failed', 'succeeded'),
      since: nat(2),
      attempts: nat(3),
    }),
  },
  { weight: 1, arbitrary: constant('gone' as const) },
  { weight: 1, arbitrary: constantFrom('disable', 'enable', 'move', 'change') },
);

it('under any sequence of outcomes only ten failures in a row disable, and a killed owner leaves the same state', () => {
  assert(
    property(
      array(record({ what: happening, isKilled: boolean() }), { minLength: 10, maxLength: 60 }),
      (all) => {
        const wrong: unknown[] = [];
        const check = (is: unknown, wanted: unknown): void => {
          if (!isDeepStrictEqual(is, wanted)) wrong.push([is, wanted]);
        };
        let stored: Subscriber = found;
        let state = stateOf(stored);
        let inARow = 0;
        for (const { what, isKilled } of all) {
          const before = state;
          if (typeof what === 'object') {
            const begun = state.round - what.since;
            const next = step(state, changeOf(state, what.verdict, what.attempts + 1, { round: begun }));
            if (before.isActive) {
              const counts = what.verdict === 'failed' && what.since === 0;
              if (what.verdict === 'succeeded') inARow = 0;
              if (counts) inARow += 1;
              check(next.disable, inARow >= 10 ? 'failures' : undefined);
              check(next.counts, counts);
              check(next.state.failures, inARow);
              if (counts) check(next.state.isCircuitClosed, false);
            } else check(next.state, before);
            state = next.state;
            if (next.store === 'now') stored = storedIn(stored, state);
          } else if (what === 'gone') {
            const next = step(state, changeOf(state, 'gone'));
            check(next.disable, before.isActive ? 'gone' : undefined);
            state = next.state;
            stored = storedIn(stored, state);
          } else {
            const version = state.version + 1;
            const turned = what === 'enable' ? !stored.active : what === 'disable' && stored.active;
            if (turned && what === 'enable')
              stored = { ...stored, active: true, failures: 0, open: false, trials: [] };
            if (turned && what === 'disable')
              stored = {
                ...stored,
                active: false,
                epoch: stored.epoch + 1,
                open: false,
                trials: [],
              };
            if (what === 'move') stored = { ...stored, url: `https://${version}.example/`, open: false };
            stored = { ...stored, version };
            state = applied(state, stored);
            check(begins(before, state), turned);
          }
          if (!state.isActive) inARow = 0;
          // Only the trials of failures that did not count may be missing: the offset has these.
          if (isKilled) {
            const { round: _round, trials, ...known } = stateOf(stored);
            check({ ...state, round: 0, trials: [] }, { ...known, round: 0, trials: [] });
            state = stateOf(stored);
            check(trials.length <= 8, true);
          }
        }
        expect(wrong).toEqual([]);
      },
    ),
    { numRuns: 300 },
  );
});
