import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { repository } from '../../support/deploy-files.ts';

async function listen(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
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
  const port = await listen((request, response) => {
    asked.push(request.method, request.url);
    response.end('x'.repeat(100_000));
  });
  expect(await isHealthy(port)).toBe(true);
  expect(asked).toEqual(['GET', '/readyz?x=1']);
});

it.each([204, 301, 404, 500, 503])('the health check fails for a process that answers %i', async (status) => {
  expect(await isHealthy(await listen((_request, response) => response.writeHead(status).end()))).toBe(false);
});

it('the health check prints the answer of an unhealthy process', async () => {
  const port = await listen((_request, response) => response.writeHead(503).end('waiting for nats\n'));
  const script = join(repository, 'deploy/healthcheck.sh');
  const checked = promisify(execFile)('bash', [script, String(port), '/ready']);
  await expect(checked).rejects.toMatchObject({ code: 1, stdout: 'waiting for nats\n' });
});

it('the health check fails for a process that accepts the connection and does not answer', async () => {
  const startedAt = performance.now();
  expect(await isHealthy(await listen(() => undefined))).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(8_000);
});

it('the health check fails for a process that does not listen', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  expect(await isHealthy(port)).toBe(false);
});
