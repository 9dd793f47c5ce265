// A process that stands still, as one does that swaps or is paused, while its receivers go on: what they answered in
// time is not taken for silence.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { openConnections } from '../../../services/webhooks/src/connections.ts';
import { openPoster } from '../../../services/webhooks/src/post.ts';

/** In a process of its own, so that it does not stand still as well. */
async function openDistantReceiver(answer: string) {
  const program = `const server = require('node:http').createServer((request, response) => {
    request.resume().on('end', () => { console.log('asked'); ${answer} });
  }).listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  return {
    port: Number(port),
    asked: () => once(child.stdout, 'data'),
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

function standStill(): void {
  for (const startedAt = performance.now(); performance.now() - startedAt < 1_500;);
}

async function postAndStandStill(port: number, asked: Promise<unknown>) {
  await using connections = openConnections();
  using poster = openPoster(new AbortController().signal, connections);
  const authority = `127.0.0.1:${port}`;
  const origin = `http://${authority}`;
  const { dispatcher } = connections.to({
    origin, authority, path: '/', host: '127.0.0.1', isLiteral: true, port, secure: false, address: '127.0.0.1',
  }); // prettier-ignore
  const outcome = poster.post({
    dispatcher,
    origin,
    path: '/',
    headers: ['host', authority],
    body: Buffer.from('{}'),
    endsBy: performance.now() + 500,
  });
  await asked;
  // From where nothing is read before the timers are looked at.
  setImmediate(standStill);
  return await outcome;
}

it('an answer that came while the process stood still is read before the time is said to be over', async () => {
  await using receiver = await openDistantReceiver('setTimeout(() => response.writeHead(204).end(), 100);');
  expect(await postAndStandStill(receiver.port, receiver.asked())).toMatchObject({
    verdict: 'succeeded',
    responseStatus: 204,
  });
});

it('a receiver that has still not answered then has failed', async () => {
  await using receiver = await openDistantReceiver('');
  expect(await postAndStandStill(receiver.port, receiver.asked())).toMatchObject({
    verdict: 'failed',
    error: expect.stringContaining('timeout'),
  });
});
