// A storm as a person runs it at a terminal.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject } from 'vitest';

const main = join(import.meta.dirname, '../../dev/storm/main.ts');

export interface StormProcess {
  output: () => string;
  end: Promise<number | null>;
  interrupt(): void;
}

export interface StormChoice {
  folder: string;
  seconds: number;
  profile: string;
}

export function startStorm({ folder, seconds, profile }: StormChoice): StormProcess {
  const options = ['--seed', '7', '--seconds', String(seconds), '--profile', profile, '--folder', folder];
  const child = spawn(process.execPath, [main, ...options], {
    env: { ...process.env, STORM_PROGRAMS: JSON.stringify(inject('programs')) },
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

/** The command lines that name the folder: those of the storm's own processes and engines, but not of services. */
export const processesOf = (folder: string): string[] =>
  execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(folder));
