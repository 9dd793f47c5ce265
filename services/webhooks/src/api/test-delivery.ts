// A test delivery: one POST to one endpoint, without an event in a stream. Whatever the receiver answers, the test counts neither
// as a failure nor as a success. The in-flight limits of deliveries do not count it.
import { randomUUID } from 'node:crypto';
import { testKind } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { AttemptLog } from '../delivering/attempt-log.ts';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { Attempted, Send } from '../sending/send.ts';
import { endpointOf, json, runIfFree } from './handlers.ts';

/** One integration can have 45 concurrent test deliveries, of which each may take ten seconds. */
const testLimits = { max: 64, share: { timesFree: 3, kept: 4 } };

export type Test = (endpoint: Endpoint, traceparent?: string) => Promise<Attempted>;

/** Sends a test delivery. There is one attempt, even if it fails, and the attempt log has an entry of it. */
export const openTest =
  (
    cache: Pick<EndpointCache, 'prepare'>,
    attemptLog: Pick<AttemptLog, 'append'>,
    send: Send,
    signal: AbortSignal,
  ): Test =>
  async (endpoint, traceparent) => {
    const { _id, integration } = endpoint;
    const timestamp = new Date().toISOString();
    const delivery = { event: testKind, timestamp, integrationId: integration, data: { webhookId: _id } };
    const body = Buffer.from(JSON.stringify(delivery));
    const event = { eventId: `test-${randomUUID()}`, event: testKind, timestamp, body };
    const attempted = await send(cache.prepare(endpoint), { ...event, attempt: 1, traceparent, signal });
    attemptLog.append({ endpoint, event, number: 1, attempted, nextAttemptAt: null });
    return attempted;
  };

export function testing({ endpoints, test }: { endpoints: Endpoints; test: Test }): BusHandler {
  const semaphore = openSemaphore(testLimits);
  return async (request) => {
    const endpoint = await endpointOf(endpoints, request);
    const { verdict, responseStatus, durationMs, error } = await runIfFree(
      semaphore,
      request.integration,
      'tests',
      () => test(endpoint, request.traceparent),
    );
    return json({ delivered: verdict === 'succeeded', responseStatus, durationMs, error });
  };
}
