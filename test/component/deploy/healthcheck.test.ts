import { execFile } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { findPort } from '../../../dev/process/port.ts';
import { repository } from '../../support/deploy-files.ts';
import { listen } from '../../support/servers.ts';

async function portOf(answer: RequestListener): Promise<number> {
  const listening = await listen(createServer(answer));
  onTestFinished(() => listening[Symbol.asyncDispose]());
  return listening.port;
}

const isHealthy = (port: number): Promise<boolean> =>
  promisify(execFile)('bash', [join(repository, 'deploy/healthcheck.sh'), String(port), '/readyz?x=1'], {
    timeout: 10_000,
  }).then(
    () => true,
    () => false,
  );

it('the health check passes for a process that answers 200', async () => {
  const asked: (string | undefined)[] = [];
  const port = await portOf((request, response) => {
    asked.push(request.method, request.url);
    response.end('x'.repeat(100_000));
  });
  expect(await isHealthy(port)).toBe(true);
  expect(asked).toEqual(['GET', '/readyz?x=1']);
});

it.each([204, 301, 404, 500, 503])('the health check fails for a process that answers %i', async (status) => {
  expect(await isHealthy(await portOf((_request, response) => response.writeHead(status).end()))).toBe(false);
});

it('the health check prints the answer of an unhealthy process', async () => {
  const port = await portOf((_request, response) => response.writeHead(503).end('waiting for nats\n'));
  const script = join(repository, 'deploy/healthcheck.sh');
  const checked = promisify(execFile)('bash', [script, String(port), '/ready']);
  await expect(checked).rejects.toMatchObject({ code: 1, stdout: 'waiting for nats\n' });
});

it('the health check fails for a process that accepts the connection and does not answer', async () => {
  const startedAt = performance.now();
  expect(await isHealthy(await portOf(() => undefined))).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(8_000);
});

it('the health check fails for a process that does not listen', async () => {
  expect(await isHealthy(await findPort())).toBe(false);
});
