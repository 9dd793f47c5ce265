// Requests that never become one: headers that are too large, bytes that are not HTTP, clients that take for
// ever. Node reports them on the socket, before or beside Fastify, so these answers are written by hand.
//
//   what Node reports                 status
//   HPE_HEADER_OVERFLOW               431     more than 16 KiB of headers
//   ERR_HTTP_REQUEST_TIMEOUT          408     not all there in time
//   HPE_CHUNK_EXTENSIONS_OVERFLOW     413     a chunked body made of something else than chunks
//   any other                         400     not HTTP
//   a CONNECT                         404     there is no proxy here
//
// What is broken may come behind good requests on the same connection. They get their own answers, in their order;
// then the connection is closed, and what was broken has no answer.
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Failure, problemOf } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Exchange } from './exchange.ts';
import { problemType } from './problems.ts';

interface Breakage {
  status: number;
  failure: Failure;
}

const breakages: Readonly<Record<string, Breakage>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    failure: new Failure('invalid_request', 'The URL and the headers together are larger than 16 KiB.'),
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    failure: new Failure('invalid_request', 'The request did not arrive in time.'),
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    failure: new Failure('body_too_large', 'The chunk extensions of the body are too large.'),
  },
};
const notHttp: Breakage = {
  status: 400,
  failure: new Failure('invalid_request', 'What was sent is not a well-formed HTTP/1.1 request.'),
};
const noProxy: Breakage = { status: 404, failure: new Failure('not_found', 'There is no proxy here.') };

/** How long a client may go on sending after its answer, so that it gets to read it. */
const lingerMs = 2_000;

interface Current {
  request: FastifyRequest;
  reply: FastifyReply;
}

/** Its answer has not gone out whole. */
const isOpen = ({ reply }: Current): boolean => !reply.raw.writableFinished;

export interface BrokenRequests {
  /** Remembers which requests a connection is busy with. */
  follow(request: FastifyRequest, reply: FastifyReply): void;
  answer(error: Error, socket: Socket): void;
  refuseTunnel(socket: Socket): void;
}

export function openBrokenRequests(log: Log): BrokenRequests {
  const current = new WeakMap<Socket, Current[]>();
  const answered = new WeakSet<Socket>();
  const openOn = (socket: Socket): Current[] => (current.get(socket) ?? []).filter(isOpen);

  return {
    follow(request, reply) {
      const { socket } = request.raw;
      current.set(socket, [...openOn(socket), { request, reply }]);
    },
    answer(error, socket) {
      // What still comes in after the answer is reported again and again.
      if (answered.has(socket)) return;
      answered.add(socket);
      const code = 'code' in error ? String(error.code) : '';
      if (code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      const open = openOn(socket);
      // Only the last one can be unfinished; where it is whole, what is broken came behind it.
      const broken = open.at(-1)?.request.raw.complete === false ? open.pop() : undefined;
      const good = open.at(-1);
      const breakage = { ...(breakages[code] ?? notHttp), reason: code };
      if (good !== undefined) {
        if (broken !== undefined) note(broken.request.exchange, breakage);
        closeAfter(good, socket);
      } else if (broken?.reply.raw.headersSent === true) {
        socket.destroy();
      } else {
        write(socket, breakage, { log, exchange: broken?.request.exchange });
      }
    },
    refuseTunnel(socket) {
      const good = openOn(socket).at(-1);
      if (good === undefined) write(socket, { ...noProxy, reason: 'CONNECT' }, { log, exchange: undefined });
      else closeAfter(good, socket);
    },
  };
}

function closeAfter({ reply }: Current, socket: Socket): void {
  // An answer that has not begun says so itself.
  reply.raw.shouldKeepAlive = false;
  reply.raw.once('finish', () => socket.destroySoon());
}

function note(exchange: Exchange, { status, failure, reason }: Breakage & { reason: string }): void {
  exchange.code = failure.code;
  exchange.brokenOff = { status, reason };
}

function write(
  socket: Socket,
  breakage: Breakage & { reason: string },
  { log, exchange }: { log: Log; exchange: Exchange | undefined },
): void {
  const { status, failure, reason } = breakage;
  const requestId = exchange?.requestId ?? randomUUID();
  const body = JSON.stringify({ ...problemOf(failure, requestId), status });
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
  if (exchange === undefined) {
    log.info({ requestId, status, code: failure.code, reason }, 'request broken off');
  } else {
    note(exchange, breakage);
  }
}
