// The HTTP server: limits, hooks for every request, and the end of the server. routing.ts and pages.ts add the routes.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { METHODS, type Server } from 'node:http';
import { Server as Listener } from 'node:net';
import type { Readable } from 'node:stream';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import { Failure, limits } from '@integration-sync/contracts';
import { portRefused } from '@integration-sync/runtime/config';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import type { Tracing } from '@integration-sync/runtime/tracing';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { openClientErrors } from './client-errors.ts';
import { openCompression } from '../body/compression.ts';
import { watchConnections } from './client-connections.ts';
import { closeExchange, Exchange } from './exchange.ts';
import { lingering } from './lingering.ts';
import { boundConnections, connectionsWithinFiles } from './open-files.ts';
import { failureOf, notFound, writeFailure } from '../problems.ts';

/** The limit on the bytes of URL and headers together. */
const headerBytesMax = 16 * 1024;
const headersTimeoutMs = 10_000;
const keepAliveTimeoutMs = 65_000;
/** How long a connection may be without a byte in either direction, for example to a client that reads no answer. */
const stillTimeoutMs = 120_000;
/** How long a stopping gateway still answers requests on kept-alive connections, with `Connection: close`. */
const lastRequestsMs = 1_000;
const arrivals = ['connection', 'request'] as const;
/** How many turns of the event loop `afterSockets` waits at most: under full load each turn may bring a request. */
const turnsMax = 1_000;
/** How long after the begin of a stop the gateway closes the connections that have not ended by themselves. */
const closeWithinMs = 9_000;

export interface ServerOptions {
  requestTimeoutMs: number;
  log: Log;
  metrics: Metrics;
  tracing?: Tracing | undefined;
  isStopping: () => boolean;
  stillTimeoutMs?: number;
  connectionsMax?: number | undefined;
}

export function createServer(options: ServerOptions): FastifyInstance {
  const { requestTimeoutMs, log, metrics, tracing, isStopping } = options;
  const compress = openCompression();

  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    request.exchange = new Exchange(request, tracing);
    connections.get(request.raw.socket)?.follow(reply);
    reply.raw.once('close', () => closeExchange(request, reply, { log, metrics }));
    reply.headers({
      'x-request-id': request.exchange.requestId,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
  };
  const finish = <T>(request: FastifyRequest, reply: FastifyReply, payload: T): T | Readable => {
    if (isStopping()) reply.header('connection', 'close');
    if (request.raw.errored === null) request.exchange.answeredAt = performance.now();
    if (typeof payload === 'string' || payload instanceof Buffer) request.exchange.bytesOut = payload.length;
    return lingering(request, reply, payload);
  };

  const app = fastify({
    http: {
      maxHeaderSize: headerBytesMax,
      // Node heeds the timeout of the whole request only if the timeout of the headers is shorter.
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs / 2),
      connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs / 4),
      // Node would answer a missing Host itself, without a problem in the body; `checkHost` answers instead.
      requireHostHeader: false,
    },
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionTimeout: options.stillTimeoutMs ?? stillTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: true,
    clientErrorHandler: (error, socket) => clientErrors.answer(error, socket),
    // For a URL that fails to decode, Fastify runs no hook, so this function does what the hooks do.
    frameworkErrors(error, request: FastifyRequest, reply: FastifyReply) {
      begin(request, reply);
      reply.send(finish(request, reply, writeFailure(request, reply, failureOf(error, request, log))));
    },
    routerOptions: { querystringParser: () => ({}), maxParamLength: limits.eventIdCharactersMax },
  });

  const connections = watchConnections(app.server);
  const clientErrors = openClientErrors(log, connections, requestTimeoutMs);

  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    if (request.is404) throw notFound();
    checkHost(request);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const sent = compress(request, reply, payload);
    return finish(request, reply, sent instanceof Promise ? await sent : sent);
  });
  app.setErrorHandler((error, request, reply) =>
    reply.send(writeFailure(request, reply, failureOf(error, request, log))),
  );
  app.setNotFoundHandler(() => {
    throw notFound();
  });
  // Without this listener, Node drops the connection of a CONNECT in silence.
  app.server.on('connect', (request) => clientErrors.refuseTunnel(request.socket));
  // uploads.ts answers `Expect: 100-continue` after the checks, so that a client with a bad token sends no body. The gateway
  // ignores other expectations.
  app.server.on('checkContinue', (request, response) => app.routing(request, response));
  app.server.on('checkExpectation', (request, response) => app.routing(request, response));
  boundConnections(app.server, options.connectionsMax ?? connectionsWithinFiles(), log);
  app.addHook('onClose', async () => clientErrors[Symbol.dispose]());
  return app;
}

function checkHost({ raw }: FastifyRequest): void {
  const hosts = raw.headersDistinct['host'] ?? [];
  if (hosts.length === 0 && raw.httpVersion === '1.1')
    throw new Failure('invalid_request', 'An HTTP/1.1 request needs a Host header.');
  // Of several headers with one name, `headers` has only the first, and a proxy before the gateway may have read a later one.
  if (hosts.length > 1) throw new Failure('invalid_request', 'A request must have only one Host header.');
}

export async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    // For "localhost" Fastify would open a second server, without the hooks and limits of this server.
    const { address } = await lookup(host, { order: 'ipv4first' });
    return await app.listen({ host: address, port });
  } catch (cause) {
    throw portRefused('GATEWAY_PORT, GATEWAY_HOST', `${host}:${port}`, cause);
  }
}

/**
 * Resolves once this process has accepted the waiting connections and read the waiting requests. TCP would reset a connection
 * that its listener has not accepted, or that closes with an unread request. Node accepts one connection in each turn of the
 * event loop. So the wait ends with a turn without a new connection or request.
 */
async function afterSockets(server: Server): Promise<void> {
  let came = 0;
  const count = (): void => void (came += 1);
  for (const event of arrivals) server.on(event, count);
  await setImmediate();
  for (let turns = 0; turns < turnsMax; turns += 1) {
    const before = came;
    await setImmediate();
    if (came === before) break;
  }
  for (const event of arrivals) server.off(event, count);
}

/** Closes the listener, waits for requests, and closes connections that do not end by themselves. */
export async function close(app: FastifyInstance, lastRequestsForMs = lastRequestsMs): Promise<void> {
  const { server } = app;
  const cut = setTimeout(() => server.closeAllConnections(), closeWithinMs);
  const closed = once(server, 'close');
  await afterSockets(server);
  // Only the listener is closed here, because `close` of an HTTP server would close idle connections too.
  Listener.prototype.close.call(server);
  await Promise.race([closed, wait(lastRequestsForMs)]);
  await afterSockets(server);
  await app.close();
  clearTimeout(cut);
}
