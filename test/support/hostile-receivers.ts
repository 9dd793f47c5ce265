// Webhook receivers on raw sockets whose answers never end. Each repeats one part of an HTTP answer until the
// connection is closed.
import { createServer, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { expect } from 'vitest';
import type { Certificate } from './certificates.ts';
import { listen } from './servers.ts';

export type OnRequest = (socket: Socket) => void;

/** Calls back once per connection, when a request arrives on it. */
export async function openSocketReceiver(onRequest: OnRequest, certificate?: Certificate) {
  const onSocket = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.once('data', () => onRequest(socket));
  };
  const server =
    certificate === undefined ? createServer(onSocket) : createSecureServer(certificate, onSocket);
  const listening = await listen(server);
  return {
    ...listening,
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${listening.port}/`,
  };
}

/** Writes `begin` once, and then `piece` without end. */
function pour(begin: string, piece: string): OnRequest {
  const pieces = piece.repeat(Math.ceil((16 * 1024) / piece.length));
  return (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(pieces));
      if (!socket.destroyed) socket.once('drain', more);
    };
    socket.write(begin);
    more();
  };
}

/** An endless body, each byte in a packet of its own. */
const singleBytes: OnRequest = (socket) => {
  socket.setNoDelay(true);
  socket.write(ok);
  const more = (): void => {
    if (socket.destroyed) return;
    socket.write('.');
    setImmediate(more);
  };
  more();
};

const ok = 'HTTP/1.1 200 OK\r\n\r\n';
export const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** The receivers, by the part of the answer that they repeat. */
export const hostileReceivers: Readonly<Record<string, OnRequest>> = {
  'informational answers': pour('', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  headers: pour('HTTP/1.1 200 OK\r\n', 'x: y\r\n'),
  'chunk extensions': pour(`${chunked}1`, ';x=y'),
  trailers: pour(`${chunked}0\r\n`, 'x: y\r\n'),
  'single bytes': singleBytes,
  'a body': pour(ok, '.'),
};

export const tooLong = 'the answer has more than 256 KiB in all';
const reasons: Readonly<Record<string, RegExp>> = {
  'informational answers': /^more than 10 informational answers came before the answer$/,
  headers: /headers are too large$/,
  'chunk extensions': new RegExp(`^${tooLong}$`),
  trailers: /headers are too large$/,
  // On a slow machine, the attempt times out before it has received so many single bytes.
  'single bytes': /^the answer comes in more than 1024 pieces$|^timeout/,
  'a body': new RegExp(`^${tooLong}$`),
};

/** Matches the reason that the attempt log gives for a receiver of this kind. */
export const hostileReason = (kind: string) => expect.stringMatching(reasons[kind] ?? expect.fail(kind));
