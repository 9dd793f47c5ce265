// The bounds of an answer on a real socket, one read at a time, so that no packet is taken together with the next.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { boundAnswers, refuseInformational } from '../../../services/webhooks/src/sending/answer-bounds.ts';

async function openPair() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = boundAnswers(connect((server.address() as AddressInfo).port, '127.0.0.1'));
  const [receiver] = (await once(server, 'connection')) as [Socket];
  const errors: Error[] = [];
  socket.on('error', (error) => errors.push(error));
  const closed = once(socket, 'close').catch(() => undefined);
  receiver.on('error', () => undefined);
  receiver.resume();
  receiver.setNoDelay(true);
  return {
    errors,
    /** Resolves with why the connection ended. */
    async end(): Promise<string> {
      await closed;
      return errors.map(({ name, message }) => `${name}: ${message}`).join();
    },
    /** The next request on the connection. */
    request: () => socket.write('?'),
    refuse: () => socket.destroy(new Error('refused')),
    /** Resolves with how many bytes were read, once so many or more were. */
    async answer(text: string, least = text.length): Promise<number> {
      receiver.write(text);
      let bytes = 0;
      while (bytes < least) {
        const chunk: Buffer | null = socket.read();
        if (chunk === null && socket.destroyed) break;
        if (chunk === null) await once(socket, 'readable');
        bytes += chunk?.length ?? 0;
      }
      return bytes;
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      receiver.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

type Pair = Awaited<ReturnType<typeof openPair>>;

async function answerSingly(pair: Pair, count: number): Promise<number> {
  let bytes = 0;
  for (let nth = 0; nth < count; nth += 1) bytes += await pair.answer('.');
  return bytes;
}

it('an answer that arrives in at most 1,024 pieces is read', async () => {
  await using pair = await openPair();
  pair.request();
  expect(await answerSingly(pair, 1_024)).toBe(1_024);
  expect(pair.errors).toEqual([]);
  expect(await pair.answer('.')).toBe(0);
  expect(await pair.end()).toBe('AnswerTooLong: the answer comes in more than 1024 pieces');
});

it('an answer of at most 256 KiB is read', async () => {
  await using pair = await openPair();
  pair.request();
  expect(await pair.answer('.'.repeat(256 * 1024))).toBe(256 * 1024);
  expect(pair.errors).toEqual([]);
  expect(await pair.answer('.')).toBe(0);
  expect(await pair.end()).toBe('AnswerTooLong: the answer has more than 256 KiB in all');
});

it('each answer on a kept connection may use the limits of pieces and of bytes in full', async () => {
  await using pair = await openPair();
  for (let nth = 0; nth < 2; nth += 1) {
    pair.request();
    expect(await answerSingly(pair, 800)).toBe(800);
    expect(await pair.answer('.'.repeat(200 * 1024))).toBe(200 * 1024);
  }
  expect(pair.errors).toEqual([]);
});

it('an answer is parsed in chunks of 2 KiB; after the parser refuses a chunk, the rest of the answer is dropped', async () => {
  await using pair = await openPair();
  pair.request();
  expect(await pair.answer('.'.repeat(5_000), 2_048)).toBe(2_048);
  expect(await pair.answer('', 1)).toBe(2_048);
  pair.refuse();
  expect(await pair.answer('', 1)).toBe(0);
  expect(await pair.end()).toBe('Error: refused');
});

it('ten informational answers are accepted, and the eleventh is not', () => {
  expect(refuseInformational(10)).toBeUndefined();
  expect(refuseInformational(11)).toMatchObject({
    name: 'AnswerTooLong',
    message: 'more than 10 informational answers came before the answer',
  });
});
