// A short storm on three nats-servers with two replicas of each service: the node that takes events dies, and all services are
// ended in turn behind a proxy.
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { processesOf, startStorm } from '../support/storm-process.ts';

it(
  'a rolling restart of all services on a cluster of NATS loses no event, duplicates no record, and fails no push',
  { timeout: 180_000 },
  async () => {
    await using folder = await temporaryFolder();
    const storm = startStorm({ folder: folder.path, seconds: 18, profile: 'cluster-brief' });
    const code = await storm.end;
    expect(storm.output()).toContain('violations: 0');
    expect(code).toBe(0);
    expect(storm.output()).toMatch(/^kill events-leader +new leaders: .*EVENTS \d/m);
    expect(storm.output()).toMatch(/^roll services +\d+\.\d+ s long; no push failed/m);
    expect(Number(/acknowledged items +(\d+)/.exec(storm.output())?.[1])).toBeGreaterThan(300);
    expect(processesOf(folder.path)).toEqual([]);
  },
);
