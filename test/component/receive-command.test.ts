import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { authSecret } from '../support/access-tokens.ts';
import { listen } from '../support/servers.ts';

const path = '/api/v1/integration/webhook-events';

/** Answers as a gateway that registers and removes a webhook, 200 ms after each request. */
function openGateway(onRegister: () => void = () => undefined) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const answer = (): void => {
      const status = request.method === 'POST' ? 201 : 204;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(
        status === 201 ? JSON.stringify({ id: 'wh_1', secret: 'whsec_MDEyMzQ1Njc4OWFiY2RlZg==' }) : '',
      );
    };
    if (request.method === 'POST') onRegister();
    setTimeout(answer, 200);
  });
  return { asked, server };
}

it('the receive command removes its webhook where Ctrl-C comes before the answer to the registration', async () => {
  const { asked, server } = openGateway(() => child.kill('SIGINT'));
  await using gateway = await listen(server);
  const child = spawn(process.execPath, [resolve('dev/receive.ts')], {
    env: { ...process.env, AUTH_JWT_SECRET: authSecret, GATEWAY_URL: gateway.url },
    stdio: 'ignore',
  });
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(asked).toEqual([`POST ${path}`, `DELETE ${path}/wh_1`]);
});

it('the receive command removes its webhook and ends where nobody reads its output any more', async () => {
  const { asked, server } = openGateway();
  await using gateway = await listen(server);
  const child = spawn(process.execPath, [resolve('dev/receive.ts')], {
    env: { ...process.env, AUTH_JWT_SECRET: authSecret, GATEWAY_URL: gateway.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const [said] = (await once(child.stderr, 'data')) as [Buffer];
  child.stdout.destroy();
  const [url = ''] = /http:\S+\//.exec(said.toString()) ?? [];
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
  expect(await exited).toEqual([0, null]);
  expect(asked).toEqual([`POST ${path}`, `DELETE ${path}/wh_1`]);
});

it('the receive command ends within seconds of Ctrl-C where the gateway does not answer', async () => {
  const server = createServer(() => void child.kill('SIGINT'));
  await using gateway = await listen(server);
  const child = spawn(process.execPath, [resolve('dev/receive.ts')], {
    env: { ...process.env, AUTH_JWT_SECRET: authSecret, GATEWAY_URL: gateway.url },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [err, ended] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect([err, ended]).toEqual([expect.stringContaining('the gateway does not answer'), [1, null]]);
});
