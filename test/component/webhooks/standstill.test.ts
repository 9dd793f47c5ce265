// A process that stands still, as one does that swaps or is paused, while its receivers go on: it does not
// take an answer that came in time for silence, and does not send on a kept connection that the receiver has
// closed meanwhile.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { openConnections } from '../../../services/webhooks/src/sending/receiver-connections.ts';
import { openPoster } from '../../../services/webhooks/src/sending/post.ts';
import { standStill } from '../../support/stand-still.ts';

/** In a process of its own, so that it does not stand still as well. */
async function openDistantReceiver(answer: string) {
  const program = `const server = require('node:http').createServer((request, response) => {
    request.resume().on('end', () => { console.log('asked'); ${answer} });
  }).listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  let requests = 0;
  child.stdout.on('data', (lines: Buffer) => (requests += lines.toString().split('\n').length - 1));
  return {
    port: Number(port),
    /** As it has said by now. */
    requests: () => requests,
    asked: () => once(child.stdout, 'data'),
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

const stillForMs = 3_000;

function openWay(port: number) {
  const stack = new AsyncDisposableStack();
  const connections = stack.use(openConnections());
  const poster = stack.use(openPoster(connections));
  const authority = `127.0.0.1:${port}`;
  const origin = `http://${authority}`;
  const address = '127.0.0.1';
  const target = { origin, authority, path: '/', host: address, isLiteral: true, port, secure: false, addresses: [address] }; // oxfmt-ignore
  return {
    async post(withinMs: number) {
      const endsBy = performance.now() + withinMs;
      const { dispatcher } = connections.to(target, address);
      const body = Buffer.from('{}');
      const headers = ['host', authority];
      const post = {
        dispatcher,
        origin,
        path: '/',
        headers,
        body,
        secretHeaders: [],
        endsBy,
        connectBy: endsBy,
        signal: new AbortController().signal,
      };
      return (await poster.post(post)).outcome;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function postAndStandStill(port: number, asked: Promise<unknown>) {
  await using way = openWay(port);
  const outcome = way.post(2_000);
  await asked;
  // At this point the process reads nothing before it looks at its timers.
  setImmediate(() => standStill(stillForMs));
  return await outcome;
}

it('a process that was stopped reads an answer in its socket before it decides on a time-out of the attempt', async () => {
  await using receiver = await openDistantReceiver('setTimeout(() => response.writeHead(204).end(), 100);');
  expect(await postAndStandStill(receiver.port, receiver.asked())).toMatchObject({
    verdict: 'succeeded',
    responseStatus: 204,
  });
});

it('an attempt without an answer fails after the process was stopped and resumed', async () => {
  await using receiver = await openDistantReceiver('');
  expect(await postAndStandStill(receiver.port, receiver.asked())).toMatchObject({
    verdict: 'failed',
    error: expect.stringContaining('timeout'),
  });
});

it.each([
  ['closes', 'request.socket.end()'],
  ['resets', 'request.socket.resetAndDestroy()'],
])(
  'a delivery after a stop of the process uses a new connection where the receiver %s the kept connection meanwhile',
  async (_does, end) => {
    await using receiver = await openDistantReceiver(
      `response.writeHead(204).end(); setTimeout(() => ${end}, 100);`,
    );
    await using way = openWay(receiver.port);
    expect((await way.post(5_000)).verdict).toBe('succeeded');
    standStill(stillForMs);
    expect(await way.post(5_000)).toMatchObject({ verdict: 'succeeded', error: null });
    await expect.poll(() => receiver.requests()).toBe(2);
  },
);
