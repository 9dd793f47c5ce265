// A short storm with a fixed seed, from outside: as a person runs it at a terminal.
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { processesOf, startStorm } from '../support/storm-process.ts';

it(
  'npm run storm finds no violation, though a catalog replica is stopped for longer than callers wait',
  {
    timeout: 180_000,
  },
  async () => {
    await using folder = await temporaryFolder();
    const storm = startStorm({ folder: folder.path, seconds: 18, profile: 'brief' });
    const code = await storm.end;
    expect(storm.output()).toContain('violations: 0');
    expect(code).toBe(0);
    for (const fault of [
      'stop catalog',
      'kill catalog',
      'kill batches',
      'kill webhooks',
      'kill gateway-2',
      'kill nats',
    ]) {
      expect(storm.output()).toContain(fault);
    }
    expect(Number(/acknowledged items +(\d+)/.exec(storm.output())?.[1])).toBeGreaterThan(300);
    expect(processesOf(folder.path)).toEqual([]);
  },
);

it('npm run storm ends all of its processes at SIGINT', { timeout: 120_000 }, async () => {
  await using folder = await temporaryFolder();
  const storm = startStorm({ folder: folder.path, seconds: 60, profile: 'brief' });
  await expect.poll(storm.output, { timeout: 60_000, interval: 100 }).toContain('the storm blows');
  expect(processesOf(folder.path).length).toBeGreaterThan(5);
  storm.interrupt();
  expect(await storm.end).toBe(1);
  expect(storm.output()).toContain('Ended before its time');
  expect(processesOf(folder.path)).toEqual([]);
});
