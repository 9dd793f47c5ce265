// Work that begins while NATS is not connected, and requests to a service without responders.
import { expect, it } from 'vitest';
import { openAbsences, openConnectivity } from '../../../shared/runtime/src/bus/connectivity.ts';
import { pause } from '../../support/pause.ts';

const outcomeOf = async (work: Promise<void>): Promise<string> => {
  const beganMs = performance.now();
  const word = await work.then(
    () => 'ok',
    () => 'refused',
  );
  return `${word} after ${Math.round((performance.now() - beganMs) / 50) * 50} ms`;
};

it('work waits for a reconnect of NATS, and fails if no reconnect comes', async () => {
  const connectivity = openConnectivity(() => false);
  expect(await outcomeOf(connectivity.untilConnected())).toBe('ok after 0 ms');
  connectivity.drop();
  const waiting = outcomeOf(connectivity.untilConnected());
  await pause(150);
  connectivity.restore();
  expect(await waiting).toBe('ok after 150 ms');
  connectivity.drop();
  expect(await outcomeOf(connectivity.untilConnected())).toBe('refused after 500 ms');
  // The client tries one server after the other, and says each time that it is disconnected.
  connectivity.drop();
  expect(await outcomeOf(connectivity.untilConnected())).toBe('refused after 0 ms');
  connectivity.restore();
  expect(await outcomeOf(connectivity.untilConnected())).toBe('ok after 0 ms');
});

it('running work fails when the connection drops, and completed work does not', async () => {
  const connectivity = openConnectivity(() => false);
  expect(await connectivity.whileConnected(() => Promise.resolve('done'))).toBe('done');
  const under = outcomeOf(connectivity.whileConnected(() => new Promise<void>(() => undefined)));
  await pause(100);
  connectivity.drop();
  expect(await under).toBe('refused after 100 ms');
  connectivity.restore();
  await expect(connectivity.whileConnected(() => Promise.reject(new Error('its own')))).rejects.toThrow(
    'its own',
  );
});

it('listeners are notified of a reconnect until they are disposed of', () => {
  const connectivity = openConnectivity(() => false);
  let times = 0;
  const told = connectivity.onReconnect(() => void (times += 1));
  connectivity.drop();
  expect(times).toBe(0);
  connectivity.restore();
  expect(times).toBe(1);
  told[Symbol.dispose]();
  connectivity.drop();
  connectivity.restore();
  expect(times).toBe(1);
});

it('a closed client counts as not connected', async () => {
  const connectivity = openConnectivity(() => true);
  expect(connectivity.connected).toBe(false);
  expect(await outcomeOf(connectivity.untilConnected())).toBe('refused after 0 ms');
});

it('work waits until the client has left a server in lame duck mode', async () => {
  const connectivity = openConnectivity(() => false);
  connectivity.hold(300);
  expect(await outcomeOf(connectivity.untilConnected())).toBe('ok after 300 ms');
  connectivity.hold(300);
  const waiting = outcomeOf(connectivity.untilConnected());
  await pause(100);
  connectivity.release();
  expect(await waiting).toBe('ok after 100 ms');
});

it('a request waits 500 ms at most for a service without responders', () => {
  let nowMs = 0;
  const absences = openAbsences(() => nowMs);
  expect(absences.mayEnd('catalog')).toBe(true);
  nowMs = 400;
  expect([absences.mayEnd('catalog'), absences.mayEnd('batches')]).toEqual([true, true]);
  nowMs = 600;
  expect([absences.mayEnd('catalog'), absences.mayEnd('batches')]).toEqual([false, true]);
  absences.end('catalog');
  expect(absences.mayEnd('catalog')).toBe(true);
  nowMs = 4_000;
  expect(absences.mayEnd('catalog')).toBe(false);
  nowMs = 9_001;
  expect(absences.mayEnd('catalog')).toBe(true);
});
