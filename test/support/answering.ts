// Starts a replica of a service that answers each request with its pid, so that a test sees which replica answered.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';

export async function startAnswering(url: string): Promise<AsyncDisposable & { pid: number }> {
  const child = spawn(process.execPath, [inject('programs').answering, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(() => Promise.reject(new Error('the replica died before it served'))),
  ]);
  if (child.pid === undefined) throw new Error('the replica has no pid');
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
