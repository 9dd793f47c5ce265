// A short storm with a fixed seed, from outside: as a person runs it at a terminal.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';

const main = join(import.meta.dirname, '../../dev/storm/main.ts');

interface Run {
  output: () => string;
  end: Promise<number | null>;
  interrupt(): void;
}

function startStorm(folder: string, seconds: number): Run {
  const options = ['--seed', '7', '--seconds', String(seconds), '--profile', 'brief', '--folder', folder];
  const child = spawn(process.execPath, [main, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const input of [child.stdout, child.stderr])
    input.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return {
    output: () => output,
    end: once(child, 'exit').then(([code]: unknown[]) => (typeof code === 'number' ? code : null)),
    interrupt: () => child.kill('SIGINT'),
  };
}

/** Every process whose command line names the folder: services carry it in their environment only, engines in both. */
const left = (folder: string): string[] =>
  execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(folder));

it(
  'keeps every promise through a storm, with a replica of catalog that stands still for longer than callers wait',
  {
    timeout: 180_000,
  },
  async () => {
    await using folder = await temporaryFolder();
    const storm = startStorm(folder.path, 16);
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
    expect(left(folder.path)).toEqual([]);
  },
);

it('ends everything that it has started at SIGINT', { timeout: 120_000 }, async () => {
  await using folder = await temporaryFolder();
  const storm = startStorm(folder.path, 60);
  await expect.poll(storm.output, { timeout: 60_000, interval: 100 }).toContain('the storm blows');
  expect(left(folder.path).length).toBeGreaterThan(5);
  storm.interrupt();
  expect(await storm.end).toBe(1);
  expect(storm.output()).toContain('Ended before its time');
  expect(left(folder.path)).toEqual([]);
});
