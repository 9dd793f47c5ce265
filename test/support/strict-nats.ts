// A NATS that lets no client publish to one subject, answers "ok" on every other, lets in the login that a
// test wants, and turns away as many connections as a test says. The engines of this project have no accounts
// to refuse with, so this file speaks the few words of the protocol itself.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { listenOnLoopback } from '../../dev/process/port.ts';

const info = { server_id: 'strict', version: '2.12.0', proto: 1, headers: true, max_payload: 1_048_576 };

export interface StrictNats extends AsyncDisposable {
  readonly url: string;
  /** Drops every connection, and refuses the next `times` connections. */
  turnAway(times: number): void;
}

/** The login in the message CONNECT of a client. */
export type Login = Partial<Record<'user' | 'pass' | 'auth_token', string>>;

export interface StrictNatsOptions {
  /** The subject to which no client may publish. */
  refused?: string;
  admits?: (login: Login) => boolean;
}

export async function startStrictNats({
  refused = '',
  admits = () => true,
}: StrictNatsOptions = {}): Promise<StrictNats> {
  const sockets = new Set<Socket>();
  let turningAway = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    let inbox = '';
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on('data', (chunk) => {
      for (const line of chunk.toString().split('\r\n')) {
        const [verb, subject = '', argument] = line.split(' ');
        if (verb === 'CONNECT' && (turningAway > 0 || !admits(JSON.parse(line.slice('CONNECT '.length))))) {
          if (turningAway > 0) turningAway -= 1;
          socket.end("-ERR 'Authorization Violation'\r\n");
          return;
        }
        if (verb === 'PING') socket.write('PONG\r\n');
        if (verb === 'SUB' && subject?.startsWith('_INBOX')) inbox = argument ?? '';
        if (verb !== 'HPUB') continue;
        if (subject === refused) socket.write(`-ERR 'Permissions Violation for Publish to "${subject}"'\r\n`);
        else socket.write(`MSG ${argument} ${inbox} 2\r\nok\r\n`);
      }
    });
  });
  const port = await listenOnLoopback(server);
  return {
    url: `nats://127.0.0.1:${port}`,
    turnAway(times) {
      turningAway = times;
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
