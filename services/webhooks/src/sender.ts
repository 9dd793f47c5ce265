// One attempt, from the url to its outcome: checked, signed, posted, timed. What it means is decided elsewhere.
import { limits } from '@integration-sync/contracts';
import type { Connections } from './connections.ts';
import type { Known } from './directory.ts';
import type { Guard } from './guard.ts';
import { faultOfOurs, outcomeOfSilence, type Outcome } from './outcome.ts';
import { post } from './post.ts';
import { signedHeaders, type SigningKey } from './signature.ts';

export interface Sending {
  eventId: string;
  event: string;
  timestamp: string;
  body: Uint8Array;
}

export interface Attempted extends Outcome {
  at: Date;
  durationMs: number;
}

/** Rejects when it could not leave through a fault of ours, or the process stops: then there was no attempt. */
export type Send = (known: Known, sending: Sending) => Promise<Attempted>;

export interface SenderOptions {
  guard: Guard;
  connections: Connections;
  userAgent: string;
  /** Ends what is in flight. */
  signal: AbortSignal;
}

export function openSender({ guard, connections, userAgent, signal }: SenderOptions): Send {
  const attempt = async (known: Known, sending: Sending, at: Date): Promise<Outcome> => {
    const startedAt = performance.now();
    let target;
    try {
      target = await guard(known.endpoint.url);
    } catch (error) {
      const fault = faultOfOurs(error);
      if (fault !== undefined) throw fault;
      return outcomeOfSilence(error);
    }
    const { url } = target;
    const { dispatcher, origin } = connections.to(target);
    const headers = signedHeaders(
      { ...sending, endpointId: known.endpoint._id },
      keysAt(known, at),
      at,
      userAgent,
    );
    return post({
      dispatcher,
      origin,
      path: url.pathname + url.search,
      headers: ['host', url.host, ...headers],
      body: sending.body,
      deadlineMs: limits.deliveryDeadlineMs - (performance.now() - startedAt),
      signal,
    });
  };

  return async (known, sending) => {
    const at = new Date();
    const startedAt = performance.now();
    const outcome = await attempt(known, sending, at);
    return { ...outcome, at, durationMs: Math.round(performance.now() - startedAt) };
  };
}

function keysAt({ key, previousKeys }: Known, at: Date): [SigningKey, ...SigningKey[]] {
  const serving = previousKeys.filter(({ expiresAtMs }) => expiresAtMs > at.getTime());
  return [key, ...serving.map((previous) => previous.key)];
}
