// Requests that never become one: headers that are too large, bytes that are not HTTP, clients that take for
// ever. Node reports them on the socket, before or beside Fastify, so these answers are written by hand.
//
//   what Node reports                 status
//   HPE_HEADER_OVERFLOW               431     more than 16 KiB of headers
//   ERR_HTTP_REQUEST_TIMEOUT          408     not all there in time
//   HPE_CHUNK_EXTENSIONS_OVERFLOW     413     a chunked body made of something else than chunks
//   any other                         400     not HTTP
//   a CONNECT                         404     there is no proxy here
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

export interface BrokenRequests {
  /** Remembers which request a connection is busy with. */
  follow(request: FastifyRequest, reply: FastifyReply): void;
  answer(error: Error, socket: Socket): void;
  refuseTunnel(socket: Socket): void;
}

export function openBrokenRequests(log: Log): BrokenRequests {
  const current = new WeakMap<Socket, Current>();
  const answered = new WeakSet<Socket>();

  return {
    follow(request, reply) {
      current.set(request.raw.socket, { request, reply });
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
      const at = current.get(socket);
      const pending = at === undefined || at.reply.raw.writableEnded ? undefined : at;
      if (pending?.reply.raw.headersSent === true) {
        socket.destroy();
      } else if (pending?.request.raw.complete === true) {
        // The broken one came behind a good one: that one is answered, and then the connection ends.
        pending.reply.raw.shouldKeepAlive = false;
      } else {
        write(socket, breakages[code] ?? notHttp, { reason: code, log, exchange: pending?.request.exchange });
      }
    },
    refuseTunnel(socket) {
      write(socket, noProxy, { reason: 'CONNECT', log, exchange: undefined });
    },
  };
}

function write(
  socket: Socket,
  { status, failure }: Breakage,
  { reason, log, exchange }: { reason: string; log: Log; exchange: Exchange | undefined },
): void {
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
    exchange.code = failure.code;
    exchange.brokenOff = { status, reason };
  }
}
