// One attempt, from the url to its outcome: checked, signed, posted, timed. What it means is decided elsewhere.
import { limits } from '@integration-sync/contracts';
import type { Connections } from './connections.ts';
import type { Known } from './directory.ts';
import type { Guard } from './guard.ts';
import { faultOfOurs, outcomeOfSilence, type Outcome } from './outcome.ts';
import type { Poster } from './post.ts';
import { signedHeaders, type Signable, type SigningKey } from './signature.ts';

export interface Attempted extends Outcome {
  at: Date;
  durationMs: number;
}

/** Rejects when it could not leave through a fault of ours, or the process stops: then there was no attempt. */
export type Send = (known: Known, sending: Signable) => Promise<Attempted>;

export interface SenderOptions {
  guard: Guard;
  connections: Connections;
  poster: Poster;
  userAgent: string;
}

export function openSender({ guard, connections, poster, userAgent }: SenderOptions): Send {
  const attempt = async (known: Known, sending: Signable, at: Date, startedAt: number): Promise<Outcome> => {
    const { endpoint } = known;
    let target;
    try {
      target = await guard(endpoint.url);
    } catch (error) {
      const fault = faultOfOurs(error);
      if (fault !== undefined) throw fault;
      return outcomeOfSilence(error);
    }
    const { dispatcher, origin } = connections.to(target);
    const headers = signedHeaders({
      sending,
      endpointId: endpoint._id,
      host: target.authority,
      keys: keysAt(known, at),
      at,
      userAgent,
    });
    return poster.post({
      dispatcher,
      origin,
      path: target.path,
      headers,
      body: sending.body,
      endsBy: startedAt + limits.deliveryDeadlineMs,
    });
  };

  return async (known, sending) => {
    const at = new Date();
    const startedAt = performance.now();
    const { verdict, responseStatus, error } = await attempt(known, sending, at, startedAt);
    return { verdict, responseStatus, error, at, durationMs: Math.round(performance.now() - startedAt) };
  };
}

function keysAt({ key, previousKeys }: Known, at: Date): [SigningKey, ...SigningKey[]] {
  if (previousKeys.length === 0) return [key];
  const serving = previousKeys.filter(({ expiresAtMs }) => expiresAtMs > at.getTime());
  return [key, ...serving.map((previous) => previous.key)];
}
