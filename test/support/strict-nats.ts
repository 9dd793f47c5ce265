// A NATS that lets nobody publish to one subject and answers "ok" on every other. The engines of this project have
// no permissions to refuse by, so that it says the few words of the protocol itself.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

const info = { server_id: 'strict', version: '2.12.0', proto: 1, headers: true, max_payload: 1_048_576 };

export async function startStrictNats(refused: string): Promise<AsyncDisposable & { url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let inbox = '';
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on('data', (chunk) => {
      for (const line of chunk.toString().split('\r\n')) {
        const [verb, subject = '', argument] = line.split(' ');
        if (verb === 'PING') socket.write('PONG\r\n');
        if (verb === 'SUB') inbox = argument ?? '';
        if (verb !== 'HPUB') continue;
        if (subject === refused) socket.write(`-ERR 'Permissions Violation for Publish to "${subject}"'\r\n`);
        else socket.write(`MSG ${argument} ${inbox} 2\r\nok\r\n`);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a port was asked for');
  return {
    url: `nats://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
