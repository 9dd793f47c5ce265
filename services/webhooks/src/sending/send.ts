// Makes one attempt: checks the url, signs, posts, measures and traces. delivering/delivery-state.ts decides what the outcome means.
//
// The addresses of a name are tried in order until a connection is made. Only the connected address gets the request, so the
// outcome there is the outcome of the attempt. post.ts says when the request may be sent once more on a new connection.
import { limits, requestHeaders } from '@integration-sync/contracts';
import { type Span, type SpanStart, traceIdOf, type Tracing } from '@integration-sync/runtime/tracing';
import type { KnownEndpoint } from '../endpoints/cache.ts';
import type { SigningKey } from '../secrets/signing-secret.ts';
import type { Connections } from './receiver-connections.ts';
import type { CheckedTarget, EgressGuard } from './egress-guard.ts';
import { type AttemptToSign, type Signable, signedHeaders } from './delivery-headers.ts';
import { faultOfOurs, type Outcome, outcomeOfSilence } from './attempt-outcome.ts';
import type { Post, Poster } from './post.ts';

export interface Attempted extends Outcome {
  at: Date;
  durationMs: number;
  /** The trace of the attempt; undefined if the attempt belongs to no trace. */
  traceId?: string | undefined;
}

export interface Sending extends Signable {
  attempt: number;
  /** The trace of the event; undefined if the event belongs to no trace. */
  traceparent?: string | undefined;
  signal: AbortSignal;
  /** Makes the headers of a delivery in a drill, in place of `signedHeaders`. */
  headersOf?: (attempt: AttemptToSign) => string[];
}

/** Rejects if a fault of this service prevented the sending, or the attempt was aborted: such an attempt does not count. */
export type Send = (known: KnownEndpoint, sending: Sending) => Promise<Attempted>;

interface SendOptions {
  guard: EgressGuard;
  connections: Connections;
  poster: Poster;
  userAgent: string;
  sendsTraceparent?: boolean;
  tracing?: Tracing | undefined;
}

/** How long connecting to one address may take if the name has further addresses: they need time before the deadline too. */
const connectMsMax = 2_500;
/** How many addresses of a name are tried: a name may resolve to thousands, even to addresses of third parties. */
const addressesTriedMax = 16;

export function openSend(options: SendOptions): Send {
  const { guard, connections, poster, userAgent, sendsTraceparent = false, tracing } = options;
  const attempt = async (
    known: KnownEndpoint,
    sending: Sending,
    at: Date,
    startedAt: number,
  ): Promise<Outcome> => {
    const { endpoint } = known;
    let target;
    try {
      target = await guard(endpoint.url);
    } catch (error) {
      const fault = faultOfOurs(error);
      if (fault !== undefined) throw fault;
      return outcomeOfSilence(error);
    }
    const keys = keysAt(known, at);
    const { authority: host } = target;
    const { traceparent, headersOf = signedHeaders } = sending;
    const headers = headersOf({ sending, endpointId: endpoint._id, host, keys, at, userAgent });
    if (sendsTraceparent && traceparent !== undefined) headers.push(requestHeaders.traceparent, traceparent);
    headers.push(...known.headers);
    const endsBy = startedAt + limits.deliveryDeadlineMs;
    const { body, signal } = sending;
    return postToAny(target, { headers, body, secretHeaders: known.headers, endsBy, signal });
  };

  const postToAny = async (
    target: CheckedTarget,
    request: Pick<Post, 'headers' | 'body' | 'secretHeaders' | 'endsBy' | 'signal'>,
  ): Promise<Outcome> => {
    const { endsBy } = request;
    const failed: Outcome[] = [];
    const addresses = connections.inOrder(target).slice(0, addressesTriedMax);
    for (const [index, address] of addresses.entries()) {
      const set = connections.to(target, address);
      const now = performance.now();
      const left = addresses.length - index;
      const { outcome, connected } = await poster.post({
        dispatcher: set.dispatcher,
        origin: set.origin,
        path: target.path,
        ...request,
        connectBy: left === 1 ? endsBy : now + Math.min(connectMsMax, (endsBy - now) / left),
      });
      set.isDown = !connected;
      if (connected) return outcome;
      failed.push(outcome);
      if (performance.now() >= endsBy) break;
    }
    // The outcome if no address could be connected to lists each reason once, without the addresses.
    const error = [...new Set(failed.map((outcome) => outcome.error))].join('; ');
    return { verdict: 'failed', responseStatus: null, error };
  };

  const measure = async (known: KnownEndpoint, sending: Sending): Promise<Attempted> => {
    const at = new Date();
    const startedAt = performance.now();
    const outcome = await attempt(known, sending, at, startedAt);
    const durationMs = Math.round(performance.now() - startedAt);
    return { ...outcome, at, durationMs, traceId: traceIdOf(sending.traceparent) };
  };

  return (known, sending) => {
    const span = tracing?.begin(startOf(known, sending));
    if (span === undefined) return measure(known, sending);
    return traced(span, () => measure(known, { ...sending, traceparent: span.traceparent }));
  };
}

/** The span has no part of the url, which may contain a secret. */
const startOf = (
  { endpoint }: KnownEndpoint,
  { event, eventId, attempt, traceparent }: Sending,
): SpanStart => ({
  name: 'deliver',
  kind: 'client',
  parent: traceparent,
  attributes: {
    'http.request.method': 'POST',
    'sync.integration': endpoint.integration,
    'sync.endpoint': endpoint._id,
    'sync.event': event,
    'sync.eventId': eventId,
    'sync.attempt': attempt,
  },
});

async function traced(span: Span, work: () => Promise<Attempted>): Promise<Attempted> {
  let attempted;
  try {
    attempted = await work();
  } catch (error) {
    span.end(error);
    throw error;
  }
  const { verdict, responseStatus } = attempted;
  span.set({ 'http.response.status_code': responseStatus ?? undefined });
  span.end(verdict === 'succeeded' ? undefined : String(responseStatus ?? 'no answer'));
  return attempted;
}

function keysAt({ key, previousKeys }: KnownEndpoint, at: Date): [SigningKey, ...SigningKey[]] {
  if (previousKeys.length === 0) return [key];
  const serving = previousKeys.filter(({ expiresAtMs }) => expiresAtMs > at.getTime());
  return [key, ...serving.map((previous) => previous.key)];
}
