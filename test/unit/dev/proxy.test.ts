import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { listenOnLoopback } from '../../../dev/process/port.ts';
import { openProxy } from '../../../dev/process/proxy.ts';

it('a proxy that loses answers passes on what callers send, and loses no answer of a later connection', async () => {
  const heard: string[] = [];
  await using server = createServer((socket) => {
    socket.on('data', (bytes) => heard.push(String(bytes)));
    socket.pipe(socket);
  });
  await using proxy = await openProxy([`http://127.0.0.1:${await listenOnLoopback(server)}`]);
  const open = () => {
    const answers: string[] = [];
    const socket = connect(proxy.port, '127.0.0.1').on('data', (bytes) => answers.push(String(bytes)));
    return { socket, answers };
  };
  const present = open();
  present.socket.write('one');
  await once(present.socket, 'data');
  proxy.loseAnswers();
  present.socket.end('two');
  await once(present.socket, 'close');
  const later = open();
  later.socket.end('three');
  await once(later.socket, 'close');
  expect(heard).toEqual(['one', 'two', 'three']);
  expect([present.answers, later.answers]).toEqual([['one'], ['three']]);
});
