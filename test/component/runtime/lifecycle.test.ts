import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

/** Starts a process that goes through one of the lives in `processes/life.ts`. */
function begin(life: string, environment: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [inject('programs').life, life], {
    env: { ...process.env, ...environment },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  const heard = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const hear of heard) hear();
    });
  }
  const exit = once(child, 'close').then(([code, signal]: unknown[]) => ({ code, signal }));
  return {
    output,
    exit,
    send: (signal: NodeJS.Signals) => child.kill(signal),
    stopReading: () => void child.stdout.destroy(),
    async says(words: string): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const hear = (): void => (`${output.stdout}${output.stderr}`.includes(words) ? resolve() : undefined);
      heard.add(hear);
      hear();
      await promise;
    },
    /** What the process said, without its log lines. */
    words: () => output.stdout.split('\n').filter((line) => line !== '' && !line.startsWith('{')),
    logged: (): Record<string, unknown>[] =>
      output.stdout
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line)),
  };
}

const clean = { code: 0, signal: null };
const failed = { code: 1, signal: null };
const released = [
  'started',
  'releasing server',
  'released server',
  'releasing database',
  'released database',
];

describe('a running process', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'releases its resources, last in first out, on %s',
    async (signal) => {
      const life = begin('serves');
      await life.says('started');
      life.send(signal);
      await expect(life.exit).resolves.toStrictEqual(clean);
      expect(life.words()).toStrictEqual(released);
      expect(life.output.stderr).toBe('');
    },
  );

  it('ends immediately on a second signal', async () => {
    const life = begin('never releases');
    await life.says('started');
    life.send('SIGINT');
    await life.says('releasing server');
    const second = performance.now();
    life.send('SIGINT');
    await expect(life.exit).resolves.toStrictEqual(failed);
    // Without it the release would have 15 s.
    expect(performance.now() - second).toBeLessThan(5_000);
  });

  it('ends with a fatal line when its resources are not released before the deadline', async () => {
    const life = begin('never releases, with little patience');
    await life.says('started');
    life.send('SIGTERM');
    await expect(life.exit).resolves.toStrictEqual(failed);
    expect(life.logged()).toContainEqual(
      expect.objectContaining({
        level: 'fatal',
        err: expect.objectContaining({
          message: 'the resources of the process were not released within 0.2 s',
        }),
      }),
    );
  });

  it('ends with a fatal line when it fails to release a resource, and releases the other resources', async () => {
    const life = begin('fails to release');
    await life.says('started');
    life.send('SIGTERM');
    await expect(life.exit).resolves.toStrictEqual(failed);
    expect(life.words()).toContain('released database');
    expect(life.logged()).toContainEqual(
      expect.objectContaining({ level: 'fatal', err: expect.objectContaining({ message: 'still in use' }) }),
    );
  });

  it.each([
    ['throws later', 'a defect'],
    ['rejects later', 'a rejection without a handler'],
  ])('that %s logs the error, releases its resources, and fails', async (name, message) => {
    const life = begin(name);
    await expect(life.exit).resolves.toStrictEqual(failed);
    expect(life.words()).toStrictEqual(released);
    expect(life.logged()).toContainEqual(
      expect.objectContaining({ level: 'fatal', err: expect.objectContaining({ message }) }),
    );
  });

  it('that throws while it stops releases its other resources, and fails', async () => {
    const life = begin('throws while it stops');
    await life.says('started');
    life.send('SIGTERM');
    await expect(life.exit).resolves.toStrictEqual(failed);
    expect(life.words()).toStrictEqual(released);
  });
});

describe('a starting process', () => {
  it('prints wrong settings as plain text without passwords, and fails', async () => {
    const life = begin('has wrong settings');
    await expect(life.exit).resolves.toStrictEqual(failed);
    expect(life.output).toStrictEqual({
      stdout: '',
      stderr: 'catalog cannot start:\n  PORT: expected an integer\n  URL: no mongodb://***@db\n',
    });
  });

  it('that fails half-way releases its resources, and logs why', async () => {
    const life = begin('fails half-way');
    await expect(life.exit).resolves.toStrictEqual(failed);
    expect(life.words()).toStrictEqual([
      'releasing bus',
      'released bus',
      'releasing database',
      'released database',
    ]);
    expect(life.logged()).toStrictEqual([
      expect.objectContaining({
        level: 'fatal',
        service: 'catalog',
        err: expect.objectContaining({
          message: 'no room',
          cause: expect.objectContaining({ message: 'the disk is full' }),
        }),
      }),
    ]);
  });

  it.each(['waits for an engine', 'gives up waiting at the signal'])(
    'that %s ends cleanly on a signal',
    async (name) => {
      const life = begin(name);
      await life.says('waiting');
      life.send('SIGINT');
      await expect(life.exit).resolves.toStrictEqual(clean);
      expect(life.output.stderr).toBe('');
    },
  );

  it('that completes after SIGTERM releases its resources', async () => {
    const life = begin('starts a moment after the signal');
    await life.says('waiting');
    life.send('SIGTERM');
    await expect(life.exit).resolves.toStrictEqual(clean);
    expect(life.words()).toStrictEqual(['waiting', ...released]);
  });

  it('that throws outside every catch fails', async () => {
    const life = begin('throws while it starts');
    await expect(life.exit).resolves.toStrictEqual(failed);
    expect(life.logged()).toContainEqual(expect.objectContaining({ level: 'fatal' }));
  });
});

describe('the log lines about the start and end of a process', () => {
  it('may go into a pipe that no process reads any more', async () => {
    const life = begin('serves on without a reader');
    await life.says('started');
    life.stopReading();
    life.send('SIGTERM');
    await expect(life.exit).resolves.toStrictEqual(clean);
  });

  it('follow LOG_LEVEL', async () => {
    const life = begin('serves', { LOG_LEVEL: 'warn' });
    await life.says('started');
    life.send('SIGTERM');
    await life.exit;
    expect(life.logged()).toStrictEqual([]);
  });

  it('are written although LOG_LEVEL has an unknown value', async () => {
    const life = begin('serves', { LOG_LEVEL: 'loud' });
    await life.says('started');
    life.send('SIGTERM');
    await expect(life.exit).resolves.toStrictEqual(clean);
    expect(life.logged().map(({ msg }) => msg)).toStrictEqual(['stopping', 'stopped']);
  });
});
