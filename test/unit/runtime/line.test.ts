// What begins while the line to NATS is down, and while no replica of a service listens.
import { expect, it } from 'vitest';
import { openAbsences, openLine } from '../../../shared/runtime/src/bus/line.ts';
import { pause } from '../../support/pause.ts';

const outcomeOf = async (work: Promise<void>): Promise<string> => {
  const beganMs = performance.now();
  const word = await work.then(
    () => 'ok',
    () => 'refused',
  );
  return `${word} after ${Math.round((performance.now() - beganMs) / 50) * 50} ms`;
};

it('waits for a line that comes back, and is refused where it does not', async () => {
  const line = openLine(() => false);
  expect(await outcomeOf(line.untilConnected())).toBe('ok after 0 ms');
  line.drop();
  const waiting = outcomeOf(line.untilConnected());
  await pause(150);
  line.restore();
  expect(await waiting).toBe('ok after 150 ms');
  line.drop();
  expect(await outcomeOf(line.untilConnected())).toBe('refused after 500 ms');
  // The client tries one server after the other, and says each time that it is disconnected.
  line.drop();
  expect(await outcomeOf(line.untilConnected())).toBe('refused after 0 ms');
  line.restore();
  expect(await outcomeOf(line.untilConnected())).toBe('ok after 0 ms');
});

it('fails what is under way the moment the line drops, and nothing that came to its end before', async () => {
  const line = openLine(() => false);
  expect(await line.whileConnected(() => Promise.resolve('done'))).toBe('done');
  const under = outcomeOf(line.whileConnected(() => new Promise<void>(() => undefined)));
  await pause(100);
  line.drop();
  expect(await under).toBe('refused after 100 ms');
  line.restore();
  await expect(line.whileConnected(() => Promise.reject(new Error('its own')))).rejects.toThrow('its own');
});

it('tells those that asked for it that the line is back', () => {
  const line = openLine(() => false);
  let times = 0;
  const told = line.onReconnect(() => void (times += 1));
  line.drop();
  expect(times).toBe(0);
  line.restore();
  expect(times).toBe(1);
  told[Symbol.dispose]();
  line.drop();
  line.restore();
  expect(times).toBe(1);
});

it('has no line where the client is closed', async () => {
  const line = openLine(() => true);
  expect(line.connected).toBe(false);
  expect(await outcomeOf(line.untilConnected())).toBe('refused after 0 ms');
});

it('waits while the client looks for a moment to leave, and no longer', async () => {
  const line = openLine(() => false);
  line.hold(300);
  expect(await outcomeOf(line.untilConnected())).toBe('ok after 300 ms');
  line.hold(300);
  const waiting = outcomeOf(line.untilConnected());
  await pause(100);
  line.release();
  expect(await waiting).toBe('ok after 100 ms');
});

it('waits for a service whose replicas are away for a moment, and for none that is away', () => {
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
