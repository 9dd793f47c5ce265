// A receiver that never stops talking: it says one kind of thing until the sender cuts the connection.
import type { Socket } from 'node:net';
import type { Random } from '../fuzz/random.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

interface Talk {
  begin: string;
  piece: string;
}

const kinds: readonly [Talk, ...Talk[]] = [
  { begin: '', piece: 'HTTP/1.1 103 Early Hints\r\n\r\n' },
  { begin: ok, piece: 'x: y\r\n' },
  { begin: `${chunked}1`, piece: ';x=y' },
  { begin: `${chunked}0\r\n`, piece: 'x: y\r\n' },
  { begin: `${ok}\r\n`, piece: '.' },
];

const writtenBytes = 16 * 1024;

export function talkOn(socket: Socket, random: Random): void {
  const { begin, piece } = random.pick(kinds);
  const pieces = piece.repeat(Math.ceil(writtenBytes / piece.length));
  const more = (): void => {
    while (!socket.destroyed && socket.write(pieces));
    if (!socket.destroyed) socket.once('drain', more);
  };
  socket.write(begin);
  more();
}
