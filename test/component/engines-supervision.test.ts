// How the supervisor keeps a process running, and how a lock keeps one process from doing what another does.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startChild, type ChildSpec, type Death } from '../../dev/process/child.ts';
import { identify } from '../../dev/process/identity.ts';
import { lockOwner, takeLock } from '../../dev/process/lock.ts';
import { openLogFile } from '../../dev/process/logfile.ts';
import { eventually } from '../support/eventually.ts';
import { useFolder } from '../support/use-folder.ts';

const folder = useFolder();

const backoff = { firstMs: 10, maxMs: 40, settledAfterMs: 60_000 };

function recorded(script: string, more: Partial<ChildSpec> = {}) {
  const deaths: Death[] = [];
  const pids: number[] = [];
  const spec: ChildSpec = {
    name: 'worker',
    command: 'sh',
    args: ['-c', script],
    backoff,
    readyWhen: /ready/,
    onDeath: (death) => deaths.push(death),
    onStart: (pid) => pids.push(pid),
    ...more,
  };
  return { spec, deaths, pids };
}

describe('a process that is kept running', () => {
  it('is restarted when it is killed', async () => {
    const { spec, deaths, pids } = recorded('echo ready; exec sleep 60');
    await using child = await startChild(spec);
    await child.kill();
    await eventually(
      () => child.pid(),
      (pid) => pid !== undefined,
    );
    expect(deaths).toMatchObject([{ how: 'SIGKILL', againInMs: 10 }]);
    expect(new Set(pids).size).toBe(2);
  });

  it('is restarted after pauses that double up to a bound', async () => {
    const { spec, deaths } = recorded('echo ready; sleep 0.02; exit 3');
    await using _child = await startChild(spec);
    await eventually(
      () => deaths.length,
      (count) => count >= 4,
    );
    expect(deaths.slice(0, 4).map(({ how, againInMs }) => [how, againInMs])).toStrictEqual([
      ['exit code 3', 10],
      ['exit code 3', 20],
      ['exit code 3', 40],
      ['exit code 3', 40],
    ]);
  });

  it('fails its start with its last output when it dies before it is ready', async () => {
    const { spec, deaths } = recorded('echo "the port is taken" >&2; exit 2');
    await expect(startChild(spec)).rejects.toMatchObject({
      message: 'worker ended (exit code 2) before it was ready',
      lastLines: ['the port is taken'],
    });
    expect(deaths).toMatchObject([{ againInMs: undefined }]);
  });

  it('fails its start when there is no such program, and when it is never ready', async () => {
    const missing = recorded('', { command: '/no/such/program' });
    await expect(startChild(missing.spec)).rejects.toThrow('ENOENT');
    const silent = recorded('exec sleep 60', { readyWithinMs: 50 });
    await expect(startChild(silent.spec)).rejects.toThrow('worker was not ready within 0.05 s');
    expect(identify(silent.pids[0] ?? 0)).toBeUndefined();
  });

  it('fails its start with the error of onStart, and ends', async () => {
    const pids: number[] = [];
    const { spec } = recorded('exec sleep 60', {
      onStart(pid) {
        pids.push(pid);
        throw new Error('no room to note it');
      },
    });
    await expect(startChild(spec)).rejects.toThrow('no room to note it');
    expect(identify(pids[0] ?? 0)).toBeUndefined();
  });

  it('is not restarted after a stop, whenever the stop comes', async () => {
    const { spec, pids } = recorded('echo ready; sleep 0.02; exit 3');
    const child = await startChild(spec);
    await eventually(
      () => pids.length,
      (count) => count >= 2,
    );
    await child.stop();
    const before = pids.length;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(pids).toHaveLength(before);
    expect(child.pid()).toBeUndefined();
  });

  it('is killed when it does not stop in time', async () => {
    const { spec, deaths } = recorded('trap "" TERM; echo ready; while :; do sleep 0.05; done', {
      stopWithinMs: 100,
    });
    const child = await startChild(spec);
    const begun = performance.now();
    await child.stop();
    expect(performance.now() - begun).toBeGreaterThan(90);
    expect(deaths).toStrictEqual([]);
    expect(child.pid()).toBeUndefined();
  });
});

/** Leaves a SIGINT alone. */
const insistent = (atQuit: string): string =>
  `trap "" INT; trap "${atQuit}" QUIT; echo ready; while :; do sleep 0.05; done`;

describe('a process that has a signal for stopping immediately', () => {
  const stops = { stopSignal: 'SIGINT', hurrySignal: 'SIGQUIT', stopWithinMs: 1_200 } as const;

  it.each([
    ['gets this signal a second before its time is over', 'echo quits; exit 0', ['ready', 'quits'], 190],
    ['is killed in time where this signal does not end the process either', '', ['ready'], 1_190],
  ])('ends when it is stopped: it %s', async (_, atQuit, said, leastMs) => {
    const lines: string[] = [];
    const { spec } = recorded(insistent(atQuit), { ...stops, onLine: (line) => lines.push(line) });
    const child = await startChild(spec);
    const begun = performance.now();
    await child.stop();
    expect(performance.now() - begun).toBeGreaterThan(leastMs);
    expect(lines).toStrictEqual(said);
    expect(child.pid()).toBeUndefined();
  });

  it('calls afterStop once when it is stopped, also if the process was dead before', async () => {
    for (const dead of [false, true]) {
      let cleared = 0;
      const { spec } = recorded('echo ready; exec sleep 60', {
        afterStop: async () => void (cleared += 1),
      });
      const child = await startChild(spec);
      if (dead) {
        child.hold();
        await child.kill();
      }
      await child.stop();
      expect(cleared).toBe(1);
    }
  });
});

describe('a lock', () => {
  it('has one holder, whose pid the lock shows', async () => {
    const path = join(folder.path, 'lock');
    const lock = takeLock(path);
    expect(takeLock(path)).toBeUndefined();
    expect(lockOwner(path)).toBe(process.pid);
    lock?.[Symbol.dispose]();
    using again = takeLock(path);
    expect(again).toBeDefined();
  });
});

describe('a log file', () => {
  it('is rotated when it is full, and never takes more than twice its bound', async () => {
    const path = join(folder.path, 'logs', 'worker.log');
    {
      using log = openLogFile(path, 100 * 1024);
      for (let line = 0; line < 3_000; line += 1) log.write(`line ${line} ${'x'.repeat(90)}`);
    }
    const [now, before] = [await readFile(path, 'utf8'), await readFile(`${path}.1`, 'utf8')];
    expect(before.length + now.length).toBeLessThan(2 * (100 + 64) * 1024);
    expect(now).toMatch(/^line \d+ x/);
    expect(now.trimEnd().split('\n').at(-1)).toMatch(/^line 2999 /);
  });
});
