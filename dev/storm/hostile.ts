// A receiver that never stops sending: it repeats one text until the sender cuts the connection.
import type { Socket } from 'node:net';
import type { Random } from '../fuzz/random.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

/** The beginning of an answer, and the text that the receiver then repeats. */
const kinds = [
  ['', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  [ok, 'x: y\r\n'],
  [`${chunked}1`, ';x=y'],
  [`${chunked}0\r\n`, 'x: y\r\n'],
  [`${ok}\r\n`, '.'],
] as const;

const writtenBytes = 16 * 1024;

export function talkOn(socket: Socket, random: Random): void {
  const [begin, piece] = random.pick<readonly [string, string]>(kinds);
  const pieces = piece.repeat(Math.ceil(writtenBytes / piece.length));
  const more = (): void => {
    while (!socket.destroyed && socket.write(pieces));
    if (!socket.destroyed) socket.once('drain', more);
  };
  socket.write(begin);
  more();
}
