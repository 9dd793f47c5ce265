import type { Msg, NatsConnection, SubscriptionOptions } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { isRenewed, subscribeLasting } from '../../../shared/runtime/src/bus/lasting.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const subject = 'svc.test';

/** A connection whose subscriptions are refused while `isRefused` holds, before their flush is answered. */
function openRefusing() {
  const state = { isRefused: false, losesFlushes: false, subscribed: 0 };
  let refuse: (() => void) | undefined;
  const nats = {
    isClosed: () => false,
    isDraining: () => false,
    subscribe(_subject: string, { callback }: SubscriptionOptions) {
      let isClosed = false;
      state.subscribed += 1;
      refuse = () => {
        isClosed = true;
        void callback?.(new Error('refused'), {} as Msg);
      };
      return { isClosed: () => isClosed, unsubscribe: () => (isClosed = true) };
    },
    async flush() {
      if (state.losesFlushes) throw new Error('the connection dropped');
      if (state.isRefused) refuse?.();
    },
  } as unknown as NatsConnection;
  return { nats, state, refuse: () => refuse?.() };
}

it('a subscription reports its first refusal and its recovery, but no refusal of a renewal', async () => {
  const { nats, state, refuse } = openRefusing();
  const told: string[] = [];
  using _subscription = subscribeLasting(nats, subject, {
    callback: (error) => told.push(error?.message ?? 'a message'),
    onMissed: () => told.push('missed'),
  });
  for (const round of [1, 2]) {
    await vi.advanceTimersByTimeAsync(0);
    state.isRefused = true;
    refuse();
    expect(isRenewed(nats, subject)).toBe(false);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(state.subscribed).toBe(5 * round);
    expect(isRenewed(nats, subject)).toBe(true);
    state.isRefused = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(told).toEqual(Array.from({ length: round }, () => ['refused', 'missed']).flat());
    expect(isRenewed(nats, subject)).toBe(false);
  }
});

it('a subscription whose first flush was lost is renewed, too', async () => {
  const { nats, state, refuse } = openRefusing();
  state.losesFlushes = true;
  using _subscription = subscribeLasting(nats, subject, { callback: () => undefined });
  await vi.advanceTimersByTimeAsync(0);
  state.losesFlushes = false;
  refuse();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(state.subscribed).toBe(2);
});

it('a subscription that was never allowed is not renewed', async () => {
  const { nats, state } = openRefusing();
  state.isRefused = true;
  const told: unknown[] = [];
  using _subscription = subscribeLasting(nats, subject, { callback: (error) => told.push(error) });
  await vi.advanceTimersByTimeAsync(20_000);
  expect([state.subscribed, told.length]).toEqual([1, 1]);
});

it('a subscription that ended while it was refused hides no refusal of a later subscription', async () => {
  const { nats, state, refuse } = openRefusing();
  const told: unknown[] = [];
  const subscribe = () => subscribeLasting(nats, subject, { callback: (error) => told.push(error) });
  for (const round of [1, 2]) {
    using _subscription = subscribe();
    await vi.advanceTimersByTimeAsync(0);
    state.isRefused = true;
    refuse();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(told).toHaveLength(round);
    state.isRefused = false;
  }
  expect(isRenewed(nats, subject)).toBe(false);
});
