// Leases on what the streams hand to this replica, and what becomes of a message that it is handed once more.
import type { StreamMessage } from '@integration-sync/runtime/bus';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { lapsesAfterMs, openLeases, type Leases } from '../../../services/webhooks/src/streams/leases.ts';
import { messageFor } from '../../support/webhook-parts.ts';

/** A message as nats-server hands it out, any number of times. */
function openMessage(sequence = 1, storedAt = new Date(0)) {
  const said: string[] = [];
  const handOut = (): StreamMessage =>
    messageFor({
      sequence,
      storedAt,
      ack: () => void said.push('ack'),
      nak: () => void said.push('nak'),
      working: () => void said.push('working'),
    });
  return { said, handOut };
}

let nowMs = 0;
let leases: Leases;
beforeEach(() => {
  vi.useFakeTimers();
  leases = openLeases({ now: () => nowMs });
});
afterEach(() => {
  leases[Symbol.dispose]();
  vi.useRealTimers();
});

/** The process works, and its timers come when they should. */
function pass(ms: number): void {
  for (let passed = 0; passed < ms; passed += 100) {
    nowMs += 100;
    vi.advanceTimersByTime(100);
  }
}

/** The process stands still, and its timers come late. */
const standStill = (ms: number): void => {
  nowMs += ms;
  vi.advanceTimersByTime(500);
};

function taken(lease: ReturnType<Leases['take']>) {
  if (lease === undefined) throw new Error('the message was not taken');
  return lease;
}

describe('a message that comes again', () => {
  it('is not taken a second time while it is in hand', () => {
    const { said, handOut } = openMessage();
    const lease = taken(leases.take(handOut()));
    expect(leases.take(handOut())).toBeUndefined();
    lease.ack();
    expect(said).toEqual(['ack']);
  });

  it('is acknowledged again where it was settled a moment ago', () => {
    const { said, handOut } = openMessage();
    taken(leases.take(handOut())).ack();
    pass(10_000);
    expect(leases.take(handOut())).toBeUndefined();
    expect(said).toEqual(['ack', 'ack']);
  });

  it('is taken where it was settled long ago', () => {
    const { handOut } = openMessage();
    taken(leases.take(handOut())).ack();
    pass(16_000);
    expect(leases.take(handOut())).toBeDefined();
  });

  it('is taken where it was given back', () => {
    const { said, handOut } = openMessage();
    taken(leases.take(handOut())).giveBack();
    expect(leases.take(handOut())).toBeDefined();
    expect(said).toEqual(['nak']);
  });

  it('is taken where some part of it was left to another replica', () => {
    const { said, handOut } = openMessage();
    const lease = taken(leases.take(handOut(), 2));
    lease.leave();
    lease.ack();
    expect(said).toEqual([]);
    expect(leases.take(handOut())).toBeDefined();
  });
});

it('another message in the same place of a stream that was made again is taken', () => {
  taken(leases.take(openMessage(1, new Date(0)).handOut())).ack();
  expect(leases.take(openMessage(1, new Date(1)).handOut())).toBeDefined();
});

describe('a lease', () => {
  it('is extended while the process works, and does not lapse', () => {
    const { said, handOut } = openMessage();
    const lease = taken(leases.take(handOut()));
    pass(10_000);
    expect(lease.isLapsed).toBe(false);
    expect(said.filter((one) => one === 'working').length).toBeGreaterThanOrEqual(19);
  });

  it.each([
    ['is not extended before it is due', false, []],
    ['is extended with those that are older, where they are to come again in order', true, ['working']],
  ])('%s', (_, inOrder, wanted) => {
    using ordered = openLeases({ inOrder, now: () => nowMs });
    const [older, younger] = [openMessage(1), openMessage(2)];
    ordered.take(older.handOut());
    pass(400);
    ordered.take(younger.handOut());
    pass(100);
    expect(older.said).toEqual(['working']);
    expect(younger.said).toEqual(wanted);
  });

  it('lapses while the process stands still, and is extended no more', () => {
    const { said, handOut } = openMessage();
    const lease = taken(leases.take(handOut()));
    standStill(lapsesAfterMs + 1);
    expect(lease.isLapsed).toBe(true);
    pass(2_000);
    expect(lease.isLapsed).toBe(true);
    expect(said).toEqual([]);
  });

  it('does not lapse while the process stands still for less', () => {
    const lease = taken(leases.take(openMessage().handOut()));
    standStill(lapsesAfterMs - 1);
    expect(lease.isLapsed).toBe(false);
  });

  it('that lapsed holds again where this replica is handed the message once more', () => {
    const { handOut } = openMessage();
    const lease = taken(leases.take(handOut()));
    standStill(lapsesAfterMs + 1);
    expect(leases.take(handOut())).toBeUndefined();
    expect(lease.isLapsed).toBe(false);
  });
});
