import { spawn, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { beginMeasuring, spentBy } from '../../dev/bench/cpu.ts';

// Setup: a process that computes for a given processor time when it is told to, itself or in a process that it starts.
// What this proves: the benchmarks count it where it belongs, whatever else the machine does.

const computing = join(import.meta.dirname, '../support/processes/computing.ts');
const ms = 250;
/** The kernel counts to the nanosecond; what is measured is somewhat more than the loop. */
const [least, most] = [ms * 0.95, ms * 1.8];

interface Worker extends AsyncDisposable {
  pid: number;
  /** Resolves when it has computed. */
  compute(where?: 'itself' | 'thread' | 'child'): Promise<void>;
  leaveOrphan(): Promise<Orphan>;
}

interface Orphan extends Disposable {
  pid: number;
  compute(): Promise<void>;
}

async function startWorker(): Promise<Worker> {
  const child: ChildProcess = spawn(process.execPath, [computing], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  if (child.pid === undefined) throw new Error('it was not started');
  return {
    pid: child.pid,
    async compute(where = 'itself') {
      child.send({ where, ms });
      await once(child, 'message');
    },
    async leaveOrphan() {
      const lines = on(child, 'message');
      child.send({ where: 'orphan', ms });
      const next = async (wanted: RegExp): Promise<string> => {
        for (;;) {
          const { value } = await lines.next();
          const line = String(value?.[0]);
          if (wanted.test(line)) return line;
        }
      };
      const pid = Number(await next(/^\d+$/));
      return {
        pid,
        async compute() {
          process.kill(pid, 'SIGUSR2');
          await next(/^computed$/);
        },
        [Symbol.dispose]: () => void process.kill(pid),
      };
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit');
      child.kill();
      await exit;
    },
  };
}

describe.skipIf(process.platform !== 'linux')('processor time', () => {
  it('counts for the process that used it, and not for a process that waited', async () => {
    await using one = await startWorker();
    await using other = await startWorker();
    const end = beginMeasuring({ one: [one.pid], other: [other.pid] });
    await one.compute();
    const spent = end();
    expect(spentBy(spent, 'one')).toBeGreaterThan(least);
    expect(spentBy(spent, 'one')).toBeLessThan(most);
    expect(spentBy(spent, 'other')).toBeLessThan(ms / 2);
    expect(spentBy(spent, 'caller')).toBeLessThan(ms * 0.9);
  });

  it('of each thread counts for its process', async () => {
    await using worker = await startWorker();
    const end = beginMeasuring({ worker: [worker.pid] });
    await worker.compute('thread');
    expect(spentBy(end(), 'worker')).toBeGreaterThan(least);
  });

  it('of an ended process counts for its parent', async () => {
    await using worker = await startWorker();
    const end = beginMeasuring({ worker: [worker.pid] });
    await worker.compute('child');
    expect(spentBy(end(), 'worker')).toBeGreaterThan(least);
  });

  it('of an unnamed process counts for the benchmark that started it', async () => {
    await using unnamed = await startWorker();
    const end = beginMeasuring({});
    await unnamed.compute();
    expect(spentBy(end(), 'caller')).toBeGreaterThan(least);
  });

  it('of a foreign process counts as other work, unless the benchmark names the process', async () => {
    await using worker = await startWorker();
    using orphan = await worker.leaveOrphan();
    // Both see the same machine, and whatever else it does.
    const endUnnamed = beginMeasuring({ worker: [worker.pid] });
    const endNamed = beginMeasuring({ worker: [worker.pid], orphan: [orphan.pid] });
    await orphan.compute();
    const named = endNamed();
    const unnamed = endUnnamed();
    expect(spentBy(named, 'orphan')).toBeGreaterThan(least);
    expect(unnamed.otherMs - named.otherMs).toBeGreaterThan(least);
    expect(spentBy(unnamed, 'worker')).toBeLessThan(ms * 0.9);
    expect(unnamed.machineMs).toBeGreaterThan(unnamed.otherMs);
  });
});
