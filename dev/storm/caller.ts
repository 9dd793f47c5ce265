// A caller of the public interface that tells apart how a request can fail. Each request has a connection of its own: a
// kept connection that the gateway closes while it is idle would look like a failure.
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { basePath, type ListingEntity } from '@integration-sync/contracts';
import { issueAccessToken } from '../access-token.ts';
import { clockMs } from './ledger.ts';
import type { PushOutcome, Sighting } from './lines.ts';
import type { StormPlan } from './plan.ts';

export interface Answer {
  outcome: PushOutcome;
  begunMs: number;
  endedMs: number;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Asked {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A path below `/api/v1/integration`, or a whole path, as in the header `Link`. */
  path: string;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** A key to send in place of the token of the integration. */
  key?: string | undefined;
  gateway?: number;
  hangUpAfterMs?: number | undefined;
}

export type Caller = ReturnType<typeof openCaller>;

const silentAfterMs = 35_000;
const tokenSeconds = 24 * 60 * 60;

export function openCaller({ gateways, authSecret }: StormPlan, integration: string) {
  const token = issueAccessToken({ secret: authSecret, integration, ttlSeconds: tokenSeconds });
  return {
    async ask(asked: Asked): Promise<Answer> {
      const { method = 'GET', path, body, headers: given, key, gateway = 0, hangUpAfterMs } = asked;
      const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const url = new URL(/^\/(?:api|token)/.test(path) ? path : `${basePath}${path}`, gateways[gateway]);
      const ofBody = text && { 'content-type': 'application/json', 'content-length': text.length };
      const headers = { ...given, authorization: `Bearer ${key ?? token}`, ...ofBody };
      const begunMs = clockMs();
      const end = (outcome: PushOutcome, ofAnswer = {}, answered = ''): Answer => {
        return { outcome, begunMs, endedMs: clockMs(), headers: ofAnswer, body: answered };
      };
      const signal = AbortSignal.timeout(hangUpAfterMs ?? silentAfterMs);
      const asking = request(url, { method, agent: false, headers, signal });
      // An error that comes later than the head of the answer is thrown by `readText` below, so this listener does nothing.
      asking.on('error', () => undefined);
      try {
        const responded: Promise<IncomingMessage[]> = once(asking, 'response');
        asking.end(text);
        const [response] = await responded;
        return response === undefined
          ? end('broken')
          : end(response.statusCode ?? 0, response.headers, await readText(response));
      } catch (error) {
        if (signal.aborted) return end(hangUpAfterMs === undefined ? 'silent' : 'hung-up');
        return end(
          error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'broken',
        );
      }
    },
  };
}

/** The path of the next page. */
export const nextOf = ({ headers }: Answer): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1];

/** The part of a page of a listing that the ledger keeps. */
export const sightingsOf = (entities: readonly ListingEntity[]): Sighting[] =>
  entities.map((one) => [one.externalId, one.name, one.internalId, one.lastSyncedAt]);
