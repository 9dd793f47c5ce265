// Answers bytes of a client that never become a request. Node reports such errors on the socket, outside Fastify, so
// that the gateway writes the answers to the socket itself.
//
//   what Node reports                 status
//   HPE_HEADER_OVERFLOW               431     more than 16 KiB of headers
//   ERR_HTTP_REQUEST_TIMEOUT          408     the request did not come whole in time
//   HPE_CHUNK_EXTENSIONS_OVERFLOW     413     a chunked body with more than 16 KiB of chunk extensions
//   any other                         400     not HTTP
//   a CONNECT                         404     the gateway is no proxy
//
// If the process was frozen, a request that timed out gets its whole time once more: Node checks its timers before it reads the
// bytes that came meanwhile.
//
// Wrong bytes may come behind well-formed requests on the same connection. The gateway then answers these requests in
// order, closes the connection, and leaves the wrong bytes without an answer.
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Connections } from './client-connections.ts';
import type { Exchange } from './exchange.ts';
import { bodyOf, problemType, StatusFailure, statusOf } from '../problems.ts';

const requestTimedOut = 'ERR_HTTP_REQUEST_TIMEOUT';
const tunnel = 'CONNECT';

const failures: Readonly<Record<string, Failure>> = {
  HPE_HEADER_OVERFLOW: new StatusFailure(431, 'The URL and the headers together are larger than 16 KiB.'),
  [requestTimedOut]: new StatusFailure(408, 'The request did not arrive in time.'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new Failure(
    'body_too_large',
    'The chunk extensions of the body are too large.',
  ),
  [tunnel]: new Failure('not_found', 'The gateway is no proxy.'),
};
const notHttp = new Failure(
  'invalid_request',
  'The bytes on the connection are no well-formed HTTP/1.1 request.',
);

/** How long a client that is still sending can read its error answer before the gateway closes the connection. */
const lingerMs = 2_000;

export function openClientErrors(log: Log, connections: Connections, requestTimeoutMs: number) {
  const answered = new WeakSet<Socket>();
  const standstill = watchStandstill();

  /** Gives up if a request is not complete after a second time-out. Node itself checks the time of later requests. */
  const waitOnceMore = (socket: Socket, giveUp: () => void): void => {
    const connection = connections.get(socket);
    const before = connection?.last;
    const isBody = before?.complete === false;
    const timer = setTimeout(() => {
      const isThere = isBody ? before.complete : connection?.last !== before;
      if (!isThere) giveUp();
    }, requestTimeoutMs);
    socket.once('close', () => clearTimeout(timer));
  };

  const answerTo = (socket: Socket, code: string): void => {
    // Only the first error of a connection is answered: Node reports another error for bytes that come after the answer.
    if (answered.has(socket)) return;
    answered.add(socket);
    const connection = connections.get(socket);
    connection?.leave();
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const open = connection?.unsent ?? [];
    // Only the last open request can be incomplete. If it is complete, the wrong bytes came after it.
    const incomplete = open.at(-1)?.request.raw.complete === false ? open.pop() : undefined;
    const complete = open.at(-1);
    const exchange = incomplete?.request.exchange;
    if (complete !== undefined) {
      if (exchange !== undefined) note(exchange, code);
      // Node writes `Connection: close` into an answer that has not begun.
      complete.raw.shouldKeepAlive = false;
      complete.raw.once('finish', () => socket.destroySoon());
    } else if (incomplete?.raw.headersSent === true) {
      socket.destroy();
    } else {
      write(socket, code, log, exchange);
    }
  };

  return {
    answer(error: Error, socket: Socket): void {
      const code = 'code' in error ? String(error.code) : '';
      if (code === requestTimedOut && standstill.isJustOver)
        waitOnceMore(socket, () => answerTo(socket, code));
      else answerTo(socket, code);
    },
    refuseTunnel: (socket: Socket): void => answerTo(socket, tunnel),
    [Symbol.dispose]: () => standstill[Symbol.dispose](),
  };
}

const standstillMs = 1_000;

/** Whether this process was frozen until a second ago, because it was stopped, swapped out, or asleep with its machine. */
function watchStandstill() {
  let lookedAt = performance.now();
  let overAt = -Infinity;
  const look = (): void => {
    const before = lookedAt;
    lookedAt = performance.now();
    if (lookedAt - before > standstillMs) overAt = lookedAt;
  };
  const watch = setInterval(look, standstillMs / 2);
  watch.unref();
  return {
    get isJustOver(): boolean {
      // Reads the clock here too, because after a standstill the caller may run before the timer.
      look();
      return lookedAt - overAt < standstillMs;
    },
    [Symbol.dispose]: (): void => clearInterval(watch),
  };
}

const failureFor = (reason: string): Failure => failures[reason] ?? notHttp;

function note(exchange: Exchange, reason: string): void {
  const failure = failureFor(reason);
  exchange.code = failure.code;
  exchange.clientError = { status: statusOf(failure), reason };
}

function write(socket: Socket, reason: string, log: Log, exchange?: Exchange): void {
  const failure = failureFor(reason);
  const status = statusOf(failure);
  const requestId = exchange?.requestId ?? randomUUID();
  const body = JSON.stringify(bodyOf(failure, requestId));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      `content-type: ${problemType}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'cache-control: no-store',
      'x-content-type-options: nosniff',
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  if (exchange !== undefined) note(exchange, reason);
  else log.info({ requestId, status, code: failure.code, reason }, 'a request could not be read to its end');
}
