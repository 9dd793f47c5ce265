// Passes a request to the service that owns the route, and the answer to the caller: bytes and headers, nothing else.
import {
  Failure,
  basePath,
  encodeErrors,
  limits,
  refuseIfAny,
  replyHeaders,
  requestHeaders,
  strictHandling,
  subjects,
  type Route,
} from '@integration-sync/contracts';
import type { Reply } from '@integration-sync/runtime/bus';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { holdAnswer, tooManyAnswers } from './body/body-budgets.ts';
import type { Budget } from './body/fair-budget.ts';
import { timed, type Exchange } from './server/exchange.ts';
import { rawQuery } from './server/request-checks.ts';
import { authorizeAgain } from './tokens/authorization.ts';
import type { VerifyToken } from './tokens/tokens.ts';
import type { Upstream } from './upstream.ts';

export interface ForwardOptions {
  upstream: Upstream;
  /** The budget of the body bytes that the gateway has sent to the service and that are not answered yet. */
  road: Budget;
  answers: Budget;
  /** The prefix that callers see before the paths of the API, and that a proxy takes off. */
  publicBasePath: string;
  verify: VerifyToken;
}

export interface RouteParameters {
  /** The ids in the path, which Fastify has checked against the pattern of the path. */
  Params: { id?: string; eventId?: string };
}

type RouteRequest = FastifyRequest<RouteParameters>;

export async function forward(
  route: Route,
  request: RouteRequest,
  reply: FastifyReply,
  options: ForwardOptions,
): Promise<FastifyReply> {
  const { exchange } = request;
  exchange.upstream = route.subject;
  const begunAt = performance.now();
  const answer = await ask(route, request, reply, options);
  // While a caller of the event feed waits, its credential may end.
  if (route.subject === subjects.eventsRead)
    await authorizeAgain(request, reply, {
      verify: options.verify,
      route,
      waitedMs: performance.now() - begunAt,
    });
  // The gateway refuses unknown query parameters even now: a service of an earlier release has answered in spite of them.
  refuseIfAny(exchange.queryErrors);
  for (const [name, value] of answer.headers) {
    if (name.startsWith(replyHeaders.httpPrefix)) {
      const header = name.slice(replyHeaders.httpPrefix.length);
      reply.header(header, publicAddress(options.publicBasePath, header, value));
    } else if (name.startsWith(replyHeaders.logPrefix)) {
      exchange.facts[name.slice(replyHeaders.logPrefix.length)] = readFact(value);
    }
  }
  reply.code(Number(answer.headers.get(replyHeaders.status) ?? route.answer.status));
  if (answer.body.length > 0) reply.header('content-type', 'application/json; charset=utf-8');
  return reply.send(Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.length));
}

/** Reserves the bytes of the body until the service has answered, and of the answer until the caller has read it. */
async function ask(
  route: Route,
  request: RouteRequest,
  reply: FastifyReply,
  { upstream, road, answers }: ForwardOptions,
): Promise<Reply> {
  const { exchange } = request;
  // If the caller hung up while its token was verified, `close` was emitted before a listener is added here.
  if (reply.raw.destroyed) throw callerHungUp;
  const body = request.body instanceof Buffer ? request.body : undefined;
  const { reservation } = exchange;
  exchange.reservation = undefined;
  const hangUp = new AbortController();
  const onClose = (): void => hangUp.abort(callerHungUp);
  reply.raw.once('close', onClose);
  const reserved = answers.open(exchange.caller?.integration ?? '');
  exchange.answer = reserved;
  let isSent = false;
  try {
    if (reservation !== undefined && body !== undefined) {
      const waiting = reservation.takeRoad(road, body.length);
      if (waiting !== undefined) await timed(exchange, 'road', () => waiting);
      hangUp.signal.throwIfAborted();
    }
    const unread = holdAnswer(reserved, answerBytesOf(route, request));
    if (unread !== undefined) {
      await timed(exchange, 'answers', () => unread);
      hangUp.signal.throwIfAborted();
    }
    isSent = true;
    const headers = headersFor(route, request);
    const answer = await timed(exchange, 'upstream', () =>
      upstream.request(route.subject, {
        headers,
        ...(body === undefined ? {} : { body }),
        timeoutMs: route.timeoutMs,
        signal: hangUp.signal,
        repeatable: route.method === 'GET',
      }),
    );
    reservation?.release();
    reserved.shrink(answer.body.length);
    const isCounted = reserved.grow(answer.body.length) === 'granted';
    // Beyond the budget only the answer to a GET is refused, because a GET can be repeated. Other answers say what was stored.
    if (!isCounted && route.method === 'GET') throw tooManyAnswers();
    return answer;
  } catch (error) {
    if (isSent && error instanceof Failure && error.code === 'timeout') reservation?.releaseLater();
    else reservation?.release();
    reserved.release();
    throw error;
  } finally {
    reply.raw.off('close', onClose);
  }
}

/** The bytes to reserve for an ordinary answer. A page of a listing without details has some 30 KB. */
const usualAnswerBytes = 32 * 1024;

/** The bytes to reserve for the answer: 0 if the caller waits for events, because there is no answer yet. */
function answerBytesOf({ method, subject }: Route, request: RouteRequest): number {
  if (method !== 'GET') return usualAnswerBytes;
  const query = new URLSearchParams(rawQuery(request));
  if (subject === subjects.eventsRead) return query.has('wait') ? 0 : limits.feedBytesMax;
  return query.has('details') ? limits.detailsBytesMax : usualAnswerBytes;
}

/** Aborts a request whose caller hangs up: a service that gets the request later does not begin the push. */
const callerHungUp = new Failure('timeout', 'The caller hung up before the answer.');

function headersFor(route: Route, request: RouteRequest): Record<string, string | undefined> {
  const { exchange, params } = request;
  const key = route.takesIdempotencyKey ? request.headers['idempotency-key'] : undefined;
  return {
    [requestHeaders.integration]: exchange.caller?.integration,
    [requestHeaders.requestId]: exchange.requestId,
    [requestHeaders.client]: route.takesItems ? exchange.caller?.client : undefined,
    [requestHeaders.traceparent]: exchange.traceparent,
    [requestHeaders.query]: rawQuery(request) || undefined,
    [requestHeaders.id]: params.id,
    [requestHeaders.eventId]: params.eventId,
    [requestHeaders.idempotencyKey]: typeof key === 'string' ? encodeURIComponent(key) : undefined,
    [requestHeaders.handling]: exchange.isStrict ? strictHandling : undefined,
    [requestHeaders.queryErrors]:
      exchange.queryErrors.length > 0 ? encodeErrors(exchange.queryErrors) : undefined,
  };
}

function readFact(value: string): Exchange['facts'][string] {
  if (value === 'true' || value === 'false') return value === 'true';
  return /^-?\d{1,15}(\.\d+)?$/.test(value) ? Number(value) : value;
}

// A service writes `Link` and `Location` with the paths of the gateway. If a proxy takes a prefix off the path, the operator
// sets it (PUBLIC_BASE_PATH), because a header such as X-Forwarded-Prefix may come from a caller instead of the proxy.

/** Headers of answers that hold paths of the interface: `</api/…>; rel="next"` and `/api/…`. */
const addressHeaders: ReadonlySet<string> = new Set(['link', 'location']);

/** The value of `Link` or `Location`, with the public prefix before each path of the API. */
function publicAddress(publicBasePath: string, name: string, value: string): string {
  if (publicBasePath === '' || !addressHeaders.has(name)) return value;
  return value.startsWith(basePath)
    ? publicBasePath + value
    : value.replaceAll(`<${basePath}`, `<${publicBasePath}${basePath}`);
}
