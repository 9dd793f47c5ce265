// One attempt, from the url to its outcome: checked, signed, posted, timed. What it means is decided elsewhere.
//
// Of the addresses of a name one after the other is tried, for as long as no connection can be made: nothing has been
// sent then. As soon as there is a connection, what comes of it is what came of the attempt.
import { limits } from '@integration-sync/contracts';
import type { KnownEndpoint } from '../endpoints/cache.ts';
import { signedHeaders, type Signable, type SigningKey } from '../secrets/signature.ts';
import type { Connections } from './connections.ts';
import type { CheckedTarget, EgressGuard } from './egress-guard.ts';
import { faultOfOurs, outcomeOfSilence, type Outcome } from './outcome.ts';
import type { Poster } from './post.ts';

export interface Attempted extends Outcome {
  at: Date;
  durationMs: number;
}

/**
 * Rejects when it could not leave through a fault of this service, or the process stops: then there was no
 * attempt.
 */
export type Send = (known: KnownEndpoint, sending: Signable) => Promise<Attempted>;

export interface SendOptions {
  guard: EgressGuard;
  connections: Connections;
  poster: Poster;
  userAgent: string;
}

/** With other addresses left to try, which need their share of the deadline as well. */
const connectMsMax = 2_500;

export function openSend({ guard, connections, poster, userAgent }: SendOptions): Send {
  const attempt = async (
    known: KnownEndpoint,
    sending: Signable,
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
    const headers = signedHeaders({
      sending,
      endpointId: endpoint._id,
      host: target.authority,
      keys: keysAt(known, at),
      at,
      userAgent,
    });
    return postToAny(target, headers, sending.body, startedAt + limits.deliveryDeadlineMs);
  };

  const postToAny = async (target: CheckedTarget, headers: string[], body: Uint8Array, endsBy: number) => {
    const failed: Outcome[] = [];
    for (const [place, address] of connections.inOrder(target).entries()) {
      const set = connections.to(target, address);
      const now = performance.now();
      const left = target.addresses.length - place;
      const { outcome, connected } = await poster.post({
        dispatcher: set.dispatcher,
        origin: set.origin,
        path: target.path,
        headers,
        body,
        endsBy,
        connectBy: left === 1 ? endsBy : now + Math.min(connectMsMax, (endsBy - now) / left),
      });
      set.isDown = !connected;
      if (connected) return outcome;
      failed.push(outcome);
      if (performance.now() >= endsBy) break;
    }
    return summaryOf(failed);
  };

  return async (known, sending) => {
    const at = new Date();
    const startedAt = performance.now();
    const { verdict, responseStatus, error } = await attempt(known, sending, at, startedAt);
    return { verdict, responseStatus, error, at, durationMs: Math.round(performance.now() - startedAt) };
  };
}

/** Of several addresses that could not be connected to, without naming them: each reason once. */
function summaryOf(failed: readonly Outcome[]): Outcome {
  const error = [...new Set(failed.map((outcome) => outcome.error))].join('; ');
  return { verdict: 'failed', responseStatus: null, error };
}

function keysAt({ key, previousKeys }: KnownEndpoint, at: Date): [SigningKey, ...SigningKey[]] {
  if (previousKeys.length === 0) return [key];
  const serving = previousKeys.filter(({ expiresAtMs }) => expiresAtMs > at.getTime());
  return [key, ...serving.map((previous) => previous.key)];
}
