import { describe, expect, it } from 'vitest';
import type { Delivery, EndpointQueue } from '../../../services/webhooks/src/delivering/endpoint-queue.ts';
import { batchOf, openEndpoint, queueOf } from '../../support/webhook-parts.ts';

const closed = openEndpoint('wh_1');
const failing = { ...closed, open: false };

/** Begins what is next, and names it; or says what is to be done instead. */
function beginNext(queue: EndpointQueue, now = 0, inFlightMax = 8): string {
  const step = queue.next(now, inFlightMax);
  if (step.kind !== 'deliver') return step.kind === 'wait' ? `wait ${step.ms}` : step.kind;
  queue.begin(step.delivery, now);
  return step.event.eventId;
}

const inFlight = (queue: EndpointQueue, sequence: number, index = 0) => {
  const found = queue.find({ sequence, index });
  if (found === undefined) throw new Error('not open');
  return found;
};

/** Ends an attempt that failed. */
function failed(
  queue: EndpointQueue,
  delivery: Delivery,
  { isTrial, ...ended }: Pick<Delivery, 'attempts' | 'dueAt' | 'isTrial' | 'retryAfterMs'>,
): void {
  queue.again(Object.assign(delivery, ended), isTrial);
}

describe('where the circuit is closed', () => {
  it('eight deliveries are in flight, in the order of the log', () => {
    const { queue } = queueOf(closed, [batchOf(3, 5), batchOf(7, 9)]);
    const begun = Array.from({ length: 9 }, () => beginNext(queue));
    expect(begun).toEqual(['3-0', '3-1', '3-2', '3-3', '3-4', '7-0', '7-1', '7-2', 'nothing']);
    queue.finish(inFlight(queue, 3, 2));
    expect([beginNext(queue), beginNext(queue)]).toEqual(['7-3', 'nothing']);
  });

  it('inFlightMax bounds deliveries in flight', () => {
    const { queue } = queueOf(closed, [batchOf(1, 5)]);
    expect([beginNext(queue, 0, 1), beginNext(queue, 0, 1)]).toEqual(['1-0', 'nothing']);
  });

  it('a failed event is tried again when it is due, before newer events', () => {
    const { queue } = queueOf(closed, [batchOf(1, 3)]);
    beginNext(queue);
    failed(queue, inFlight(queue, 1), { attempts: 1, dueAt: 100, isTrial: false });
    expect(beginNext(queue, 50, 1)).toBe('1-1');
    expect(beginNext(queue, 100, 2)).toBe('1-0');
    expect(inFlight(queue, 1)).toMatchObject({ attempts: 1 });
  });

  it('where all open events wait, the queue returns the time until the next attempt', () => {
    const { queue } = queueOf(closed, [batchOf(1, 1)]);
    beginNext(queue);
    failed(queue, inFlight(queue, 1), { attempts: 1, dueAt: 100, isTrial: false });
    expect(beginNext(queue, 40)).toBe('wait 60');
  });
});

describe('where the circuit is open', () => {
  it('a late failure of an attempt from an earlier epoch does not end the trial of another event', () => {
    const { queue } = queueOf(failing, [batchOf(1, 1), batchOf(2, 3)]);
    beginNext(queue);
    const late = inFlight(queue, 1);
    queue.reset(2);
    expect(beginNext(queue)).toBe('2-0');
    failed(queue, late, { attempts: 1, dueAt: 1_000, isTrial: late.isTrial });
    expect(beginNext(queue, 2_000)).toBe('nothing');
  });

  it('one event is tried at a time', () => {
    const { queue } = queueOf(failing, [batchOf(1, 3)]);
    expect([beginNext(queue), beginNext(queue)]).toEqual(['1-0', 'nothing']);
    failed(queue, inFlight(queue, 1), { attempts: 1, dueAt: 1_000, isTrial: true });
    expect([beginNext(queue, 10), beginNext(queue, 1_000)]).toEqual(['wait 990', '1-0']);
  });

  it('the next event is tried immediately after an event was given up', () => {
    const { queue } = queueOf(failing, [batchOf(1, 2)]);
    beginNext(queue);
    queue.finish(inFlight(queue, 1));
    expect(beginNext(queue)).toBe('1-1');
  });

  it('the event that failed last is on trial, and then the oldest open event', () => {
    const { queue } = queueOf(closed, [batchOf(1, 4)]);
    for (let n = 0; n < 3; n += 1) beginNext(queue);
    queue.state = { ...queue.state, isCircuitClosed: false };
    failed(queue, inFlight(queue, 1, 2), { attempts: 1, dueAt: 0, isTrial: true });
    failed(queue, inFlight(queue, 1, 1), { attempts: 1, dueAt: 0, isTrial: false });
    failed(queue, inFlight(queue, 1, 0), { attempts: 1, dueAt: 0, isTrial: false });
    expect(beginNext(queue)).toBe('1-2');
    queue.finish(inFlight(queue, 1, 2));
    expect(beginNext(queue)).toBe('1-0');
  });
});

it('no attempt begins while a failure is being stored, at a disabled endpoint, or at an endpoint of another owner', () => {
  const { queue } = queueOf(closed, [batchOf(1, 3)]);
  queue.isPaused = true;
  expect(beginNext(queue)).toBe('nothing');
  queue.isPaused = false;
  queue.subscriber = { ...closed, active: false };
  expect([beginNext(queue), queue.firstUndelivered()]).toEqual(['nothing', Infinity]);
  queue.subscriber = closed;
  queue.isEnded = true;
  expect([beginNext(queue), queue.firstUndelivered()]).toEqual(['nothing', Infinity]);
});

describe('an offset', () => {
  it('has all events from a point on, and open events before it', () => {
    const { queue } = queueOf({ ...closed, epoch: 7 }, [batchOf(3, 4)]);
    for (let n = 0; n < 3; n += 1) beginNext(queue);
    queue.finish(inFlight(queue, 3, 1));
    failed(queue, inFlight(queue, 3, 0), { attempts: 2, dueAt: 5_000, isTrial: false });
    expect(queue.firstUndelivered()).toBe(3);
    expect(queue.offset(1_000_000, 1_000)).toEqual({
      sequence: 3,
      index: 3,
      epoch: 7,
      open: [
        { sequence: 3, index: 0, attempts: 2, dueAtMs: 1_004_000 },
        { sequence: 3, index: 2, attempts: 0, dueAtMs: 1_000_000 },
      ],
    });
  });

  it('lets another replica continue each open event with its number of attempts and its due time', () => {
    const from = {
      sequence: 3,
      index: 3,
      epoch: 0,
      open: [{ sequence: 3, index: 0, attempts: 2, dueAtMs: 4_000 }],
    };
    const { queue } = queueOf(closed, [batchOf(3, 4), batchOf(5)], { from });
    expect([beginNext(queue), beginNext(queue)]).toEqual(['3-3', '5-0']);
    expect([beginNext(queue), beginNext(queue, 4_000)]).toEqual(['wait 4000', '3-0']);
    expect(inFlight(queue, 3)).toMatchObject({ attempts: 2 });
  });

  it('never makes an event wait for longer than its own delay, whatever the clock says', () => {
    const open = [{ sequence: 3, index: 0, attempts: 3, dueAtMs: 1e12 }];
    const { queue } = queueOf(closed, [batchOf(3)], { from: { sequence: 4, index: 0, epoch: 0, open } });
    expect(beginNext(queue)).toBe('wait 30000');
  });

  it('does not have the attempts and due times of failed events, which a new owner reads from the stored trials', () => {
    const trial = { stream: 'one', sequence: 5, index: 1, attempts: 2, dueAtMs: 5_000 };
    const { queue } = queueOf({ ...failing, trials: [trial] }, [batchOf(5, 2)], { from: 5 });
    expect([beginNext(queue), inFlight(queue, 5, 0).attempts]).toEqual(['5-0', 0]);
    queue.finish(inFlight(queue, 5, 0));
    expect([beginNext(queue), beginNext(queue, 5_000)]).toEqual(['wait 5000', '5-1']);
    expect(inFlight(queue, 5, 1).attempts).toBe(2);
  });
});

it('attempts that the former owner made after its last stored offset are counted', () => {
  const open = [{ sequence: 3, index: 0, attempts: 1, dueAtMs: 0 }];
  const trials = [{ stream: 'one', sequence: 3, index: 0, attempts: 3, dueAtMs: 20_000 }];
  const from = { sequence: 4, index: 0, epoch: 0, open };
  const { queue } = queueOf({ ...failing, trials }, [batchOf(3)], { from });
  expect([beginNext(queue), inFlight(queue, 3).attempts]).toEqual(['wait 20000', 3]);
});

it('the number of attempts in an offset counts where it is higher than in the stored trials of the endpoint', () => {
  const open = [{ sequence: 3, index: 0, attempts: 3, dueAtMs: 20_000 }];
  const trials = [{ stream: 'one', sequence: 3, index: 0, attempts: 1, dueAtMs: 0 }];
  const { queue } = queueOf({ ...failing, trials }, [batchOf(3)], {
    from: { sequence: 4, index: 0, epoch: 0, open },
  });
  expect([beginNext(queue), inFlight(queue, 3).attempts]).toEqual(['wait 20000', 3]);
});

describe('an event that another replica gave up after four attempts', () => {
  const trial = { stream: 'one', sequence: 5, index: 0, attempts: 4, dueAtMs: 0 };

  it('is not tried again although the stored offset lists it as open', () => {
    const open = [{ ...trial, attempts: 3 }];
    const from = { sequence: 5, index: 1, epoch: 0, open };
    const { queue } = queueOf({ ...failing, trials: [trial] }, [batchOf(5, 2)], { from });
    expect(beginNext(queue, 60_000)).toBe('5-1');
  });

  it('is not tried again although no offset is stored', () => {
    const { queue } = queueOf({ ...failing, trials: [trial] }, [batchOf(5, 2)], { from: 5 });
    expect(beginNext(queue)).toBe('5-1');
  });

  it('is not confused with the event at the same point of a log that was created again', () => {
    const trials = [{ ...trial, stream: 'the log before' }];
    const { queue } = queueOf({ ...failing, trials }, [batchOf(5, 2)], { from: 5 });
    expect([beginNext(queue), inFlight(queue, 5).attempts]).toEqual(['5-0', 0]);
  });
});

it('a queue keeps an open event of its offset until the event’s batch is read', () => {
  const open = [{ sequence: 3, index: 1, attempts: 0, dueAtMs: 0 }];
  const { queue, window } = queueOf(closed, [], { from: { sequence: 4, index: 0, epoch: 0, open } });
  expect([beginNext(queue), queue.firstUndelivered()]).toEqual(['nothing', 3]);
  window.add(batchOf(3, 2));
  expect([beginNext(queue), beginNext(queue)]).toEqual(['3-1', 'nothing']);
});

it('a queue that is reset begins at a new offset, and ignores attempts that end afterwards', () => {
  const { queue } = queueOf(closed, [batchOf(1, 3), batchOf(9)]);
  beginNext(queue);
  const before = inFlight(queue, 1);
  queue.reset(9);
  queue.finish(before);
  expect([queue.inFlight, beginNext(queue), beginNext(queue)]).toEqual([0, '9-0', 'nothing']);
});

it('a queue requests events that are no longer in memory', () => {
  const { queue, window } = queueOf(closed, [batchOf(1)]);
  window.clear();
  expect(queue.next(0, 8)).toEqual({ kind: 'load', sequence: 1 });
  expect(queue.firstUndelivered()).toBe(1);
});

it('a queue skips events that are not for its endpoint', () => {
  const { queue } = queueOf(closed, [
    batchOf(1, 1, { endpointId: 'wh_2' }),
    batchOf(2, 1, { endpointId: 'wh_1' }),
  ]);
  expect([beginNext(queue), queue.firstUndelivered()]).toEqual(['2-0', 2]);
  queue.finish(inFlight(queue, 2));
  expect(queue.firstUndelivered()).toBe(Infinity);
});

describe('the limit of deliveries in flight', () => {
  const one = { ...closed, inFlightMax: 1 };

  it('is inFlightMax of the endpoint', () => {
    const { queue } = queueOf({ ...closed, inFlightMax: 20 }, [batchOf(1, 30)]);
    const begun = Array.from({ length: 21 }, () => beginNext(queue, 0, 64));
    expect(begun.slice(18)).toEqual(['1-18', '1-19', 'nothing']);
  });

  it('is one at a time with inFlightMax 1', () => {
    const { queue } = queueOf(one, [batchOf(1, 3)]);
    expect([beginNext(queue), beginNext(queue)]).toEqual(['1-0', 'nothing']);
    queue.finish(inFlight(queue, 1));
    expect(beginNext(queue)).toBe('1-1');
  });

  it('counts an attempt from before the endpoint was enabled until it ends', () => {
    const { queue } = queueOf(one, [batchOf(1, 3)]);
    beginNext(queue);
    const old = inFlight(queue, 1);
    queue.reset(1);
    expect(beginNext(queue)).toBe('nothing');
    failed(queue, old, { attempts: 1, dueAt: 0, isTrial: false });
    expect([beginNext(queue), queue.inFlight]).toEqual(['1-0', 1]);
  });

  it('makes a trial wait for attempts from before the circuit opened', () => {
    const { queue } = queueOf({ ...closed, inFlightMax: 2 }, [batchOf(1, 4)]);
    beginNext(queue);
    beginNext(queue);
    queue.state = { ...queue.state, isCircuitClosed: false };
    expect(beginNext(queue)).toBe('nothing');
  });

  it('makes a new owner wait until the attempts of a silent owner are over, if the caller set a limit', () => {
    const claim = { stream: 'now', term: 1, silentAt: 0 };
    const { queue: limited } = queueOf(one, [batchOf(1, 3)], { claim });
    expect([beginNext(limited, 100), beginNext(limited, 10_500)]).toEqual(['wait 10400', '1-0']);
    const { queue } = queueOf(closed, [batchOf(1, 3)], { claim });
    expect(beginNext(queue, 100)).toBe('1-0');
  });
});

const waitAfterHandBack = (retryAfterMs: number, next = closed): string => {
  const { queue } = queueOf(closed, [batchOf(1, 1)]);
  beginNext(queue);
  failed(queue, inFlight(queue, 1), { attempts: 1, dueAt: 120_000, isTrial: false, retryAfterMs });
  const from = queue.offset(0, 0);
  return beginNext(queueOf(next, [batchOf(1, 1)], { from }).queue);
};

describe('where the receiver answers with Retry-After', () => {
  it('no attempt begins before Retry-After', () => {
    const { queue } = queueOf(closed, [batchOf(1, 2)]);
    queue.restsUntil = 60_000;
    expect([beginNext(queue, 1_000), beginNext(queue, 60_000)]).toEqual(['wait 59000', '1-0']);
  });

  it('the next owner waits until Retry-After ends, and a wrong clock does not lengthen the wait', () => {
    expect([waitAfterHandBack(120_000), waitAfterHandBack(0)]).toEqual(['wait 120000', 'wait 10500']);
  });

  it('the next owner waits too, also if the answer was to an event that is given up, or to another event than the trial', () => {
    const resting = [
      [{ sequence: 1, index: 0, attempts: 4, dueAtMs: 300_000, retryAfterMs: 300_000 }],
      [
        { sequence: 1, index: 0, attempts: 1, dueAtMs: 1_000 },
        { sequence: 1, index: 1, attempts: 3, dueAtMs: 30_000, retryAfterMs: 20_000 },
      ],
    ].map((trials) => queueOf({ ...closed, open: false, trials }, [batchOf(1, 3)]).queue);
    expect(resting.map((queue) => beginNext(queue, 0))).toEqual(['wait 300000', 'wait 20000']);
  });

  it('a change of the url ends the wait, also after a takeover; a failed event still waits for its own retry', () => {
    const { queue } = queueOf(closed, [batchOf(1, 1)]);
    beginNext(queue);
    queue.restsUntil = 120_000;
    failed(queue, inFlight(queue, 1), { attempts: 1, dueAt: 120_000, isTrial: false, retryAfterMs: 120_000 });
    expect(beginNext(queue, 0)).toBe('wait 120000');
    queue.forgetRetryAfter();
    expect(beginNext(queue, 0)).toBe('wait 1000');
    const movedAt = (ms: number) => ({ ...closed, movedAt: new Date(ms) });
    expect([waitAfterHandBack(120_000, movedAt(1)), waitAfterHandBack(120_000, movedAt(-1))]).toEqual([
      'wait 1000',
      'wait 120000',
    ]);
  });
});
